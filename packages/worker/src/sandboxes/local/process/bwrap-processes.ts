import { closeSync } from "node:fs";
import type { Log } from "../../../log.ts";
import { InitProcesses, type LaunchHooks } from "../../init/init-processes.ts";
import { sandboxPaths } from "../../paths.ts";
import type { Forward } from "../../sandbox.ts";
import type { ProcessKind } from "../../systems/command-system.ts";
import type { Cgroup } from "../cgroups/cgroup.ts";
import type { System } from "../systems/system.ts";
import type { Watchdog } from "../watchdog/watchdog.ts";
import { SandboxProcess } from "./sandbox-process.ts";

/** The maximum number of processes of a sandbox user if no control group limits it. */
export const maxProcesses = 4096;

export interface BwrapProcessesOptions {
  id: string;
  system: System;
  /** The namespaces in which the files are mounted, as open files. */
  mnt: number | undefined;
  user: number | undefined;
  cgroup: Cgroup;
  /** The ports on which init listens for connections of commands. */
  forwards: Forward[];
  /** Opens the seccomp filter for one bubblewrap process. */
  openSeccompFilter(): number | undefined;
  watchdog: Watchdog;
  /** Throws if the sandbox must not start a process now. */
  assertMayStart(): void;
  log: Log;
}

/** Returns the bubblewrap processes of a sandbox. None is started yet. */
export function createBwrapProcesses(options: BwrapProcessesOptions): InitProcesses {
  const { id, system, cgroup, watchdog } = options;
  return new InitProcesses({
    ...options,
    launch: (kind, hooks) => launch(kind, hooks, options),
    // The process for commands prepares the folders that scripts use.
    scriptsNeedCommands: system.preparesFolders,
    // A process that is about to exit could replace the mount points of the next one.
    startsAfterKilled: system.preparesFolders,
    deadline: {
      get at() {
        return watchdog.deadlineOf(id);
      },
      set: (at) => watchdog.setDeadline(id, at),
    },
    limitEvents: async () => cgroup.limitEvents(),
  });
}

function launch(kind: ProcessKind, hooks: LaunchHooks, options: BwrapProcessesOptions): SandboxProcess {
  const { id, system, mnt, user, cgroup, watchdog } = options;
  const { account, userNamespace: bwrapUser } = system;
  const { bwrapArgs, copied, image } = system.describeProcess(kind);
  let seccomp: number | undefined;
  try {
    seccomp = options.openSeccompFilter();
  } catch (error) {
    for (const file of copied) closeSync(file);
    throw error;
  }
  return new SandboxProcess({
    sandbox: id,
    context: { user, mnt, bwrapUser, image, seccomp, account, copied },
    bwrapArgs,
    procsFiles: cgroup.procsFiles,
    watchdog,
    initOptions: () => ({
      deadlineMs: hooks.remainingMs(),
      folders: Object.values(sandboxPaths),
      // `ulimit -u` counts all of a user's processes. That works for the sandbox account, but an ordinary user has
      // other processes.
      maxProcesses: account !== undefined && cgroup.procsFiles.length === 0 ? maxProcesses : undefined,
    }),
    onConnected: hooks.onConnected,
  });
}
