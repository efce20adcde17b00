import type { AgentEvent } from "../event.ts";
import { Failure, messageOf } from "../failure.ts";
import { CommandOutput, RecentOutput } from "../output.ts";
import type { BackgroundProcess, Workspace } from "../workspace.ts";

/** An agent with more running commands than this has probably lost track of them. */
const MAX_RUNNING = 16;

interface BackgroundOptions {
  workspace: Workspace;
  emit(event: AgentEvent): Promise<void>;
  /** Aborts when the turn is stopped and must not emit any more events. */
  signal: AbortSignal;
}

/** The reason why a command was killed: the agent stopped it, the turn ended, or it timed out. */
type KillReason = "agent" | "turn" | "timeout";

interface Command {
  process: BackgroundProcess;
  unread: RecentOutput;
  output: CommandOutput;
  killReason?: KillReason;
  /** How the command ended. Set once the corresponding event is in the log. */
  end?: string;
  finished: Promise<void>;
}

export interface CommandStatus {
  text: string;
  /** How the command ended, or "running". */
  state: string;
}

/**
 * A turn's background commands. They emit the same events as other commands, but the conversation learns about them
 * only from the results of the tools that start, read and stop them. No command outlives its turn, because the
 * workspace must not change while it is stored.
 */
export class BackgroundCommands {
  readonly #options: BackgroundOptions;
  readonly #commands = new Map<string, Command>();

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Starts a command. Rejects with a message for the model if the command cannot start. */
  async start(command_id: string, { command, timeoutMs }: { command: string; timeoutMs?: number }) {
    const running = [...this.#commands.values()].filter(({ end }) => end === undefined);
    if (running.length >= MAX_RUNNING) {
      throw new Error(
        `The limit of ${MAX_RUNNING} background commands has been reached. Stop one of them first.`,
      );
    }
    const { workspace, emit, signal } = this.#options;
    await emit({ type: "command.started", data: { command_id, command, background: true } });
    const output = new CommandOutput((chunk) =>
      emit({ type: "command.output", data: { command_id, ...chunk } }),
    );
    const unread = new RecentOutput();
    const startedAt = performance.now();
    try {
      const process = await workspace.start(command, {
        command_id,
        signal,
        onOutput: (chunk) => {
          output.push(chunk);
          unread.push(chunk.text);
        },
      });
      const started: Command = { process, unread, output, finished: Promise.resolve() };
      this.#commands.set(command_id, started);
      const timer = timeoutMs && setTimeout(() => this.#kill(started, "timeout"), timeoutMs);
      started.finished = this.#finish(command_id, started).finally(() => clearTimeout(timer || undefined));
    } catch (error) {
      if (!(error instanceof Failure)) output.push({ stream: "stderr", text: messageOf(error) });
      await output.end();
      const duration_ms = Math.round(performance.now() - startedAt);
      await emit({ type: "command.finished", data: { command_id, duration_ms } });
      throw error;
    }
  }

  /** Returns the output since the last read. Waits up to `waitMs` for the command to end. */
  async read(command_id: string, { waitMs, signal }: { waitMs: number; signal: AbortSignal }) {
    const command = this.#find(command_id);
    if (waitMs > 0 && command.end === undefined) await waitFor(command.finished, waitMs, signal);
    if (command.end === undefined) await this.#emitChanges(command);
    return this.#takeStatus(command);
  }

  /** Kills a command, waits until all of its processes have exited, and returns the output since the last read. */
  async stop(command_id: string): Promise<CommandStatus> {
    const command = this.#find(command_id);
    this.#kill(command, "agent");
    await command.finished;
    return this.#takeStatus(command);
  }

  /** Stops all commands. Resolves when their last events have been written. */
  async stopAll(): Promise<void> {
    const commands = [...this.#commands.values()];
    for (const command of commands) this.#kill(command, "turn");
    if (!this.#options.signal.aborted) await Promise.all(commands.map(({ finished }) => finished));
  }

  #find(command_id: string): Command {
    const command = this.#commands.get(command_id);
    if (command) return command;
    throw new Error(
      `Background command ${command_id} not found in this turn. Commands stop when a turn ends or when your work is \
interrupted: start it again if you still need it.`,
    );
  }

  #kill(command: Command, reason: KillReason) {
    if (command.end !== undefined) return;
    command.killReason ??= reason;
    command.process.kill();
  }

  /**
   * Waits for the command to end and records the result. Never rejects, because a failed `emit` already stops the turn.
   */
  async #finish(command_id: string, command: Command): Promise<void> {
    const { process, output } = command;
    try {
      const { exit_code, duration_ms: exactMs, artifact_id, output_path } = await process.ended;
      const duration_ms = Math.round(exactMs);
      if (exit_code !== null) delete command.killReason;
      const isTimedOut = command.killReason === "timeout";
      if (command.killReason === "turn") {
        output.push({ stream: "stderr", text: "outrider: stopped because the turn ended.\n" });
      }
      const omitted_bytes = await output.end();
      await this.#options.emit({
        type: "command.finished",
        data: {
          command_id,
          duration_ms,
          ...(exit_code === null ? {} : { exit_code }),
          ...(isTimedOut ? { timed_out: true } : {}),
          ...(omitted_bytes > 0 ? { omitted_bytes } : {}),
          ...(artifact_id === undefined ? {} : { artifact_id }),
          ...(output_path === undefined ? {} : { output_path }),
        },
      });
      await this.#emitChanges(command);
      const end = describeEnd({ exit_code, duration_ms, isTimedOut });
      command.end = output_path === undefined ? end : `${end}; the complete output is in ${output_path}`;
    } catch (error) {
      command.end = `ended with unknown status: ${messageOf(error)}`;
    }
  }

  async #emitChanges({ process }: Command) {
    for (const change of await process.changes()) {
      await this.#options.emit({ type: "file.changed", data: change });
    }
  }

  #takeStatus({ unread, end }: Command): CommandStatus {
    return { text: unread.take(), state: end ?? "running" };
  }
}

function describeEnd(end: { exit_code: number | null; duration_ms: number; isTimedOut: boolean }): string {
  if (end.exit_code !== null) return `exit code ${end.exit_code}`;
  return end.isTimedOut ? `killed: timed out after ${end.duration_ms} ms` : "stopped before it finished";
}

/** Waits for the promise, for the timeout or for the signal, whichever comes first. */
async function waitFor(finished: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  let stop = () => {};
  const timeout = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([finished, timeout]);
  signal.removeEventListener("abort", stop);
  stop();
}
