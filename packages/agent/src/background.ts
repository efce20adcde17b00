import type { AgentEvent } from "./event.ts";
import { Failure, messageOf } from "./failure.ts";
import { CommandOutput, RecentOutput } from "./output.ts";
import type { Started, Workspace } from "./workspace.ts";

/** A turn that has so many at work has lost sight of them. */
const MOST = 16;

interface BackgroundOptions {
  workspace: Workspace;
  emit(event: AgentEvent): Promise<void>;
  /** Aborts when the turn is stopped and writes nothing more. */
  signal: AbortSignal;
}

/** Why a command ended, where that was not its own doing. */
type Stop = "agent" | "turn" | "time";

interface Command {
  spawned: Started;
  unread: RecentOutput;
  output: CommandOutput;
  stop?: Stop;
  /** Set when its end stands in the log. */
  end?: string;
  finished: Promise<void>;
}

export interface ReadCommand {
  text: string;
  /** How it ended, or that it goes on. */
  state: string;
}

/**
 * The commands of a turn that nobody waits for. Their events have the shapes of every command's, but the agent's
 * conversation is told by its tools what came of them. None outlives the turn: what the run stores must hold still.
 */
export class BackgroundCommands {
  private readonly options: BackgroundOptions;
  private readonly commands = new Map<string, Command>();

  constructor(options: BackgroundOptions) {
    this.options = options;
  }

  /** Rejects with what to tell the model when it cannot begin. */
  async start(command_id: string, { command, timeoutMs }: { command: string; timeoutMs?: number }) {
    const running = [...this.commands.values()].filter(({ end }) => end === undefined);
    if (running.length >= MOST) {
      throw new Error(`${MOST} commands run in the background, which is the most: stop one of them first.`);
    }
    const { workspace, emit, signal } = this.options;
    await emit({ type: "command.started", data: { command_id, command, background: true } });
    const output = new CommandOutput((chunk) =>
      emit({ type: "command.output", data: { command_id, ...chunk } }),
    );
    const unread = new RecentOutput();
    const began = performance.now();
    try {
      const spawned = await workspace.start(command, {
        signal,
        onOutput: (chunk) => {
          output.push(chunk);
          unread.push(chunk.text);
        },
      });
      const started: Command = { spawned, unread, output, finished: Promise.resolve() };
      this.commands.set(command_id, started);
      const timer = timeoutMs && setTimeout(() => this.kill(started, "time"), timeoutMs);
      started.finished = this.finish(command_id, started).finally(() => clearTimeout(timer || undefined));
    } catch (error) {
      if (!(error instanceof Failure)) output.push({ stream: "stderr", text: messageOf(error) });
      await output.end();
      const duration_ms = Math.round(performance.now() - began);
      await emit({ type: "command.finished", data: { command_id, duration_ms } });
      throw error;
    }
  }

  /** What it wrote since it was last read. Waits for its end as long as it is told to. */
  async read(command_id: string, { waitMs, signal }: { waitMs: number; signal: AbortSignal }) {
    const command = this.find(command_id);
    if (waitMs > 0 && command.end === undefined) await within(command.finished, waitMs, signal);
    if (command.end === undefined) await this.tellChanges(command);
    return this.take(command);
  }

  /** Answers as `read` does, when every process of it is gone. */
  async stop(command_id: string): Promise<ReadCommand> {
    const command = this.find(command_id);
    this.kill(command, "agent");
    await command.finished;
    return this.take(command);
  }

  /** Stops all; their last events are written when it resolves. */
  async end(): Promise<void> {
    const all = [...this.commands.values()];
    for (const command of all) this.kill(command, "turn");
    if (!this.options.signal.aborted) await Promise.all(all.map(({ finished }) => finished));
  }

  private find(command_id: string): Command {
    const command = this.commands.get(command_id);
    if (command) return command;
    throw new Error(
      `No command ${command_id} was started in the background of this turn. What ran there before the turn began, or \
before your work was cut off and taken up again, is gone: start it anew if you still need it.`,
    );
  }

  private kill(command: Command, stop: Stop) {
    if (command.end !== undefined) return;
    command.stop ??= stop;
    command.spawned.kill();
  }

  /** Never rejects: where nothing can be written any more, the turn is stopped by whoever found that out. */
  private async finish(command_id: string, command: Command): Promise<void> {
    const { spawned, output } = command;
    try {
      const { exit_code, duration_ms: exact, artifact_id } = await spawned.ended;
      const duration_ms = Math.round(exact);
      if (exit_code !== null) delete command.stop;
      const isLate = command.stop === "time";
      if (command.stop === "turn") {
        output.push({ stream: "stderr", text: "outrider: stopped, because the turn has ended.\n" });
      }
      const omitted_bytes = await output.end();
      await this.options.emit({
        type: "command.finished",
        data: {
          command_id,
          duration_ms,
          ...(exit_code === null ? {} : { exit_code }),
          ...(isLate ? { timed_out: true } : {}),
          ...(omitted_bytes > 0 ? { omitted_bytes } : {}),
          ...(artifact_id === undefined ? {} : { artifact_id }),
        },
      });
      await this.tellChanges(command);
      command.end = howItEnded({ exit_code, duration_ms, isLate });
    } catch (error) {
      command.end = `ended, but how is not known: ${messageOf(error)}`;
    }
  }

  private async tellChanges({ spawned }: Command) {
    for (const change of await spawned.changes()) {
      await this.options.emit({ type: "file.changed", data: change });
    }
  }

  private take({ unread, end }: Command): ReadCommand {
    return { text: unread.take(), state: end ?? "running" };
  }
}

function howItEnded(ended: { exit_code: number | null; duration_ms: number; isLate: boolean }): string {
  if (ended.exit_code !== null) return `exit code ${ended.exit_code}`;
  return ended.isLate ? `killed: its time was up after ${ended.duration_ms} ms` : "stopped before its end";
}

async function within(finished: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  let stop = () => {};
  const enough = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    stop = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([finished, enough]);
  signal.removeEventListener("abort", stop);
  stop();
}
