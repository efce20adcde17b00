import { Failure } from "@outrider/agent/failure";
import type { NewEvent } from "@outrider/contract/event";
import type { Assignment } from "@outrider/contract/worker";
import type { ReadyBuild } from "@outrider/contract/worker/build";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import { describeLimitEvents } from "../sandboxes/describe-limit-events.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { inCommandSpan } from "../telemetry/command-span.ts";

const TIMEOUT_MS = 120_000;
const TAIL_LINES = 20;
/** How much of a command's output its event contains. */
const TAIL_CHARACTERS = 4_000;

interface StartCommandsOptions {
  commands: readonly string[];
  env: Record<string, string>;
  redactor: Redactor;
  emit(event: NewEvent): Promise<unknown>;
  /** Abandons the attempt, because something outside the run killed a command. */
  abandon(reason: string): void;
  signal: AbortSignal;
  /** How long each command may take. */
  timeoutMs?: number;
}

/** Returns the start commands of a run: those of its build's devcontainer.json, then those of the environment. */
export function startCommandsOf(
  { environment }: Pick<Assignment, "environment">,
  build: Pick<ReadyBuild, "devcontainer"> | undefined,
): string[] {
  return [...(build?.devcontainer?.start_commands ?? []), ...(environment?.start_commands ?? [])];
}

/**
 * Runs an environment's start commands in order, in a sandbox in which nothing is running yet. What they leave in the
 * background keeps running. Rejects with a Failure if a command fails or does not return in time.
 */
export async function runStartCommands(sandbox: Sandbox, options: StartCommandsOptions): Promise<void> {
  for (const command of options.commands) await runStartCommand(sandbox, command, options);
}

async function runStartCommand(
  sandbox: Sandbox,
  command: string,
  { env, redactor, emit, abandon, signal, timeoutMs = TIMEOUT_MS }: StartCommandsOptions,
): Promise<void> {
  await emit({ type: "environment.step", data: { name: command, state: "started" } });
  let tail = "";
  const redacted = createTextRedactor(redactor);
  const addText = (text: string) => {
    tail = (tail + text).slice(-TAIL_CHARACTERS);
  };
  const before = await sandbox.limitEvents();
  const { exitCode, timedOut } = await inCommandSpan("start_command", () =>
    sandbox.exec(command, {
      ...{ signal, timeoutMs, env },
      mergeOutput: true,
      onOutput: ({ data }) => addText(redacted.push(data)),
    }),
  );
  const { isOutOfMemory, lines, advice } = await describeLimitEvents(sandbox, before);
  addText(redacted.end());
  if (exitCode === null && !timedOut && !isOutOfMemory && !signal.aborted)
    abandon("A start command was killed by a process outside the run.");
  signal.throwIfAborted();
  const state = exitCode === 0 ? "finished" : "failed";
  const output = tail + lines === "" ? {} : { output: tail + lines };
  await emit({ type: "environment.step", data: { name: command, state, ...output } });
  if (state === "finished") return;
  throw startFailure(command, { exitCode, tail, advice, ...(timedOut ? { timeoutMs } : {}) });
}

function startFailure(
  command: string,
  {
    exitCode,
    timeoutMs,
    tail,
    advice,
  }: { exitCode: number | null; timeoutMs?: number; tail: string; advice: string },
): Failure {
  const reason =
    timeoutMs === undefined
      ? `exited with code ${exitCode ?? "none (killed)"}.`
      : `did not return within ${timeoutMs / 1_000} s. Start servers in the background, for example with \`&\` or as a daemon.`;
  const lines = tail.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
  return new Failure(
    "environment_setup_failed",
    `\`${command}\` ${reason}${advice && ` ${advice}`}${lines ? ` Last lines of its output:\n${lines}` : ""}`,
  );
}
