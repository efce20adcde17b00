/**
 * One sandbox on this host. It owns a folder, a control group and, with a base or a disk limit, a mount namespace. Its
 * processes run in up to two bubblewrap processes (see process/bwrap-processes.ts), which start on first use.
 *
 * Invariants:
 * - At the deadline the watchdog kills both processes; init ends itself then too.
 * - Namespaces and the control group are released only after all processes have exited.
 */
import type { Log } from "../../log.ts";
import { removeFolder } from "../../remove-folder.ts";
import type { Enforced } from "../limits.ts";
import { ProcessSandbox } from "../process-sandbox.ts";
import type { Forward } from "../sandbox.ts";
import type { Cgroup } from "./cgroups/cgroup.ts";
import { createBwrapProcesses } from "./process/bwrap-processes.ts";
import type { System } from "./systems/system.ts";
import type { Watchdog } from "./watchdog/watchdog.ts";

/** The files of a sandbox, and how its processes see them. */
export interface SandboxFiles {
  /** The namespaces in which the files are mounted, as open files. */
  mnt: number | undefined;
  user: number | undefined;
  system: System;
  /** Moves or copies what a base consists of into a folder. Nothing may be running in the sandbox. */
  save(target: string): Promise<void>;
  /** Scripts that pack and unpack the same as an archive. */
  packScript: string;
  unpackScript: string;
}

export interface LocalSandboxOptions {
  id: string;
  folder: string;
  workingFolder: string | undefined;
  enforced: Enforced;
  cgroup: Cgroup;
  /** The name of the base that the sandbox starts from. */
  base: string | undefined;
  files: SandboxFiles;
  /** The ports on which init listens for connections of commands. */
  forwards: Forward[];
  /** Opens the seccomp filter for one bubblewrap process. */
  openSeccompFilter(): number | undefined;
  watchdog: Watchdog;
  log: Log;
  /** Releases everything except the folder. Called after every process has exited. */
  releaseResources(): Promise<void>;
  onClosed(): void;
}

export class LocalSandbox extends ProcessSandbox {
  constructor(options: LocalSandboxOptions) {
    const { files, cgroup, folder } = options;
    const { system, mnt, user, packScript, unpackScript } = files;
    super({
      ...options,
      system,
      createProcesses: ({ assertMayStart }) =>
        createBwrapProcesses({ ...options, ...{ system, mnt, user, assertMayStart } }),
      freezer: cgroup,
      packBase: (run, { signal }) => run(packScript, { stdin: false, signal }),
      unpackBase: (run, { signal }) => run(unpackScript, { stdin: true, signal }),
      saveBase: (target) => files.save(target),
      removeFiles: () => removeFolder(folder),
    });
  }
}
