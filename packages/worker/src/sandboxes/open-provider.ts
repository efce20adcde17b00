import { type DockerProviderOptions, openDockerProvider } from "./docker/docker-provider.ts";
import { type LocalProviderOptions, openLocalProvider } from "./local/local-provider.ts";
import type { SandboxProvider } from "./sandbox.ts";

export type ProviderOptions = LocalProviderOptions & DockerProviderOptions;

/** The kinds of sandboxes, by the name that an operator uses. */
export const sandboxKinds = ["local", "docker"] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

/** Parses the operator's choice. `setting` is the name of the option, for the error message. */
export function parseSandboxKind(text: string, setting: string): SandboxKind {
  const kind = sandboxKinds.find((known) => known === text);
  if (kind) return kind;
  throw new Error(`${setting} must be ${sandboxKinds.join(" or ")}, not "${text}".`);
}

const openers: Record<SandboxKind, (options: ProviderOptions) => Promise<SandboxProvider>> = {
  local: openLocalProvider,
  docker: openDockerProvider,
};

export async function openProvider(kind: SandboxKind, options: ProviderOptions): Promise<SandboxProvider> {
  return await openers[kind](options);
}
