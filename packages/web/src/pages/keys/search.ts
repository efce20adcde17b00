import type { KeyType } from "@outrider/sdk";
import { typeLabels } from "./key-labels.ts";

/** The keys page's search parameters. `new` and `agent` open the form for a new key. */
export interface KeysSearch {
  show?: "all" | "mine";
  new?: KeyType;
  agent?: string;
}

export function readKeysSearch({ show, new: kind, agent }: Record<string, unknown>): KeysSearch {
  return {
    ...(show === "mine" ? { show } : {}),
    ...(isKeyType(kind) ? { new: kind } : {}),
    ...(typeof agent === "string" ? { agent } : {}),
  };
}

function isKeyType(value: unknown): value is KeyType {
  return typeof value === "string" && Object.hasOwn(typeLabels, value);
}
