import type { KeyType } from "@outrider/sdk";

/** What the address of the keys page may say: whose keys, and which kind of new one is being made. */
export interface KeysSearch {
  show?: "all" | "mine";
  new?: KeyType;
  agent?: string;
}

export function readKeysSearch({ show, new: kind, agent }: Record<string, unknown>): KeysSearch {
  return {
    ...(show === "mine" ? { show } : {}),
    ...(kind === "personal" || kind === "agent" || kind === "worker" ? { new: kind } : {}),
    ...(typeof agent === "string" ? { agent } : {}),
  };
}
