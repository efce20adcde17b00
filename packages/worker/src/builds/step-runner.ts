import { Failure } from "@outrider/agent/failure";
import { quote } from "../quote.ts";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import { describeLimitEvents } from "../sandboxes/describe-limit-events.ts";
import { type ExecOptions, type Sandbox, SandboxLostError } from "../sandboxes/sandbox.ts";
import type { BuildLog } from "./build-log.ts";

const STEP_TIMEOUT_MS = 60 * 60_000;
const TAIL_LINES = 20;
const TAIL_CHARACTERS = 4_000;

export type OnStep = (name: string, state: "started" | "finished" | "failed") => void;

/** Where steps report what they do: the log of a build, or the shell of a user who looks into it. */
export type StepLog = Pick<BuildLog, "write" | "signal" | "deadline">;

/** How a step runs, which a shell that opens in its place needs. */
export interface StepContext {
  /** The name of the step, or undefined after the last one. */
  step?: string | undefined;
  /** Undefined for the folder in which commands start. */
  folder?: string | undefined;
  env: Record<string, string>;
  asRoot: boolean;
}

interface StepRunnerOptions {
  sandbox: Sandbox;
  log: StepLog;
  redactor: Redactor;
  /** Variables of all steps, in addition to those of every command. */
  env: Record<string, string>;
  onStep: OnStep;
  /** Called before a failed step ends the build. */
  onFailed?: ((context: StepContext) => Promise<void>) | undefined;
}

interface StepOptions extends Pick<ExecOptions, "env" | "asRoot" | "user" | "withWorkerPrograms" | "stdin"> {
  /** The folder in which the command runs. */
  folder?: string | undefined;
  /** Where the step is defined, for its error. */
  place?: string;
}

/** Runs a build's steps in its sandbox and writes their output to the build log. */
export class StepRunner {
  readonly #options: StepRunnerOptions;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  /** Runs one step. If the step fails, rejects with a Failure that contains the last lines of its output. */
  async run(
    name: string,
    command: string,
    { env, folder, place, ...options }: StepOptions = {},
  ): Promise<void> {
    const { sandbox, log, redactor, onStep, onFailed } = this.#options;
    const stepEnv = { ...sandbox.commandEnvironment, ...this.#options.env, ...env };
    const script = folder === undefined ? command : `cd ${quote(folder)} && { ${command}\n}`;
    log.write({ type: "step", data: { name, state: "started" } });
    onStep(name, "started");
    let tail = "";
    const redacted = createTextRedactor(redactor);
    const writeOutput = (text: string) => {
      if (text === "") return;
      tail = (tail + text).slice(-TAIL_CHARACTERS);
      log.write({ type: "output", data: { stream: "stdout", text } });
    };
    const before = await sandbox.limitEvents();
    const { exitCode, timedOut, durationMs } = await sandbox.exec(script, {
      signal: log.signal,
      timeoutMs: STEP_TIMEOUT_MS,
      env: options.withWorkerPrograms ? {} : stepEnv,
      ...options,
      mergeOutput: true,
      onOutput: ({ data }) => writeOutput(redacted.push(data)),
    });
    writeOutput(redacted.end());
    log.signal.throwIfAborted();
    const reached = await describeLimitEvents(sandbox, before);
    if (exitCode === null && !timedOut && !reached.isOutOfMemory) throw await lossOf(sandbox);
    if (reached.lines !== "") log.write({ type: "output", data: { stream: "stderr", text: reached.lines } });
    const state = exitCode === 0 ? "finished" : "failed";
    const result = { ...(exitCode === null ? {} : { exit_code: exitCode }), duration_ms: durationMs };
    log.write({ type: "step", data: { name, state, ...result } });
    onStep(name, state);
    if (state === "finished") return;
    const reason = timedOut
      ? "took longer than an hour"
      : `exited with code ${exitCode ?? "none (out of memory)"}`;
    const advice = reached.advice && ` ${reached.advice}`;
    const lines = tail.trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
    const failure = new Failure(
      "environment_setup_failed",
      `${place === undefined ? "" : `${place}: `}\`${name}\` ${reason}.${advice}${lines ? ` Last lines of its output:\n${lines}` : ""}`,
    );
    await onFailed?.({ step: name, folder, env: stepEnv, asRoot: options.asRoot ?? false });
    throw failure;
  }

  /** Runs one step that the worker does itself. */
  async perform(name: string, action: () => Promise<void>): Promise<void> {
    const { log, onStep } = this.#options;
    const report = (state: "started" | "finished" | "failed") => {
      log.write({ type: "step", data: { name, state } });
      onStep(name, state);
    };
    report("started");
    try {
      await action();
    } catch (error) {
      log.signal.throwIfAborted();
      report("failed");
      throw error;
    }
    report("finished");
  }
}

/** Returns why a step was killed that neither a limit nor its own time has ended. */
async function lossOf(sandbox: Sandbox): Promise<SandboxLostError> {
  const loss = await sandbox.findLoss?.().catch(() => undefined);
  const isRecoverable = true;
  return (
    loss ?? new SandboxLostError("A process outside of the build has killed the step.", { isRecoverable })
  );
}
