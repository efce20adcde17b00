/** Says in words which limits of a sandbox took effect, because commands rarely report that one of them stopped them. */
import type { LimitEvents, Sandbox } from "./sandbox.ts";

export interface ReachedLimits {
  isOutOfMemory: boolean;
  /** Lines for the output of a command. Empty if no limit took effect. */
  lines: string;
  /** Sentences for the error of a command that failed, with what to do. Empty if no limit took effect. */
  advice: string;
}

/** Compares the counts of a sandbox with those `before` a command. */
export async function describeLimitEvents(
  sandbox: Pick<Sandbox, "enforced" | "limitEvents">,
  before: LimitEvents,
): Promise<ReachedLimits> {
  const { memory, pids } = sandbox.enforced;
  const now = await sandbox.limitEvents();
  const isOutOfMemory = now.oom_kills > before.oom_kills;
  const reached = [
    ...(isOutOfMemory ? [describeMemory(memory)] : []),
    ...(now.forks_refused > before.forks_refused ? [describeProcesses(pids)] : []),
  ];
  return {
    isOutOfMemory,
    lines: reached.map(({ what }) => `outrider: ${what}.\n`).join(""),
    advice: reached
      .map(({ what, remedy }) => `${what.charAt(0).toUpperCase()}${what.slice(1)}. ${remedy}`)
      .join(" "),
  };
}

type Enforcement = Sandbox["enforced"]["memory"];

/** Without a limit of its own, a sandbox has those of the worker or of its machine. */
function describeMemory(memory: Enforcement): { what: string; remedy: string } {
  if (memory.enforced && memory.limit !== undefined)
    return {
      what: `a process was killed because the sandbox reached its memory limit of ${memory.limit} MB`,
      remedy: "Raise `resources.memory_mb`, or use less memory.",
    };
  return {
    what: "a process was killed because the machine of the sandbox had no memory left",
    remedy: "Use less memory, or a machine with more.",
  };
}

function describeProcesses(pids: Enforcement): { what: string; remedy: string } {
  if (pids.enforced && pids.limit !== undefined)
    return {
      what: `the sandbox reached its limit of ${pids.limit} processes`,
      remedy: "Raise `resources.pids`, or start fewer processes.",
    };
  return {
    what: "the sandbox reached the limit of processes of its machine",
    remedy: "Start fewer processes.",
  };
}
