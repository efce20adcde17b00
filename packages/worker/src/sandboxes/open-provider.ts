import { type SandboxKind, sandboxKinds } from "@outrider/contract/sandbox-kind";
import type { DockerSettings } from "./docker-settings.ts";
import type { KubernetesSettings } from "./kubernetes-settings.ts";
import type { LocalProviderOptions } from "./local/local-provider.ts";
import type { SandboxProvider } from "./sandbox.ts";

export interface ProviderOptions extends LocalProviderOptions {
  /** Set for sandboxes of the kind `docker`. */
  docker?: DockerSettings;
  /** The URL of the Outrider server, which sandboxes must not reach. */
  server?: string;
  /** Set for sandboxes of the kind `kubernetes`. */
  kubernetes?: KubernetesSettings;
  /** Returns the id of the server's installation, if the server responds and knows it. Only some kinds ask for it. */
  findInstallation?: () => Promise<string | undefined>;
  /** The root of the worker's main process, if this one executes an isolated run. */
  mainRoot?: string;
  /** Whether `root` is never used again. The provider then leaves nothing in an engine when it is stopped. */
  isTemporary?: boolean;
  /** Whether other processes of the worker execute isolated runs. */
  hasIsolatedRuns?: boolean;
}

export { type SandboxKind, sandboxKinds };

/** A provider is loaded only if it is used, because the modules of the local one need Linux. */
const openers: Record<SandboxKind, (options: ProviderOptions) => Promise<SandboxProvider>> = {
  local: async (options) => (await import("./local/local-provider.ts")).openLocalProvider(options),
  docker: async (options) =>
    options.isTemporary
      ? (await import("./docker/temporary-provider.ts")).openTemporaryProvider(options)
      : (await import("./docker/docker-provider.ts")).openDockerProvider(options),
  kubernetes: async (options) =>
    (await import("./kubernetes/kubernetes-provider.ts")).openKubernetesProvider(options),
};

export async function openProvider(kind: SandboxKind, options: ProviderOptions): Promise<SandboxProvider> {
  return await openers[kind](options);
}
