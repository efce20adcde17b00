import type { Bundle } from "../../sandboxes/sandbox.ts";

/** An agent on this worker whose files sandboxes can use. */
export interface InstalledHarness {
  name: string;
  /** The version of the agent itself. Its adapter for ACP may be another package. */
  version: string;
  /** The exact versions of the agent's own packages and its adapter, by npm name. */
  packages: Record<string, string>;
  /** Read-only files for the sandbox. They work with the files of any image. */
  bundles: Bundle[];
  /** The path of Node in the sandbox. It can start itself again. */
  node: string;
  /**
   * The path of the agent's `node_modules` in the sandbox. `.bin` in it contains the agent's programs: native ones such
   * as `claude`, `codex` and `opencode` as they are, and JavaScript ones with the Node above.
   */
  packagesPath: string;
}

export interface InstallOptions {
  /** Exact versions that replace the pinned ones, by npm name. */
  packages?: Record<string, string> | undefined;
  signal: AbortSignal;
  onProgress?: ((progress: InstallProgress) => void) | undefined;
}

export interface InstallProgress {
  /** `waiting`: another process installs the same agent. */
  step: "waiting" | "resolving" | "downloading" | "checking";
  /** The size of the files so far. */
  bytes: number;
}

/** What is stored about an installed agent. */
export interface HarnessRecord {
  name: string;
  version: string;
  packages: Record<string, string>;
  /** The system that its native programs are for, such as `linux-x64-glibc`. */
  platform: string;
  /** The hash of all files. */
  sha256: string;
  bytes: number;
}
