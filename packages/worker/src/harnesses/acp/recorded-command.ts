import { CommandOutput } from "@outrider/agent/output";
import type { CommandRecorder } from "../../workspace/command-recorder.ts";
import type { RunWorkspace } from "../../workspace/workspace.ts";
import type { TurnIo } from "../harness.ts";

export interface RecordedCommandOptions {
  command_id: string;
  command: string;
  emit: TurnIo["emit"];
  workspace: Pick<RunWorkspace, "recordOutput">;
}

/** Records a command that an agent runs itself: its start, its redacted output, and its end. */
export class RecordedCommand {
  readonly #options: RecordedCommandOptions;
  readonly #output: CommandOutput;
  readonly #recorder: CommandRecorder;
  readonly #startedAt = performance.now();
  /** The length of the output that has been recorded. */
  #length = 0;

  static async start(options: RecordedCommandOptions): Promise<RecordedCommand> {
    const { command_id, command, emit, workspace } = options;
    const output = new CommandOutput(async (chunk) => {
      await emit({ type: "command.output", data: { command_id, ...chunk } });
    });
    const recorder = await workspace.recordOutput({ command_id, onOutput: (chunk) => output.push(chunk) });
    await emit({ type: "command.started", data: { command_id, command } });
    return new RecordedCommand(options, { output, recorder });
  }

  private constructor(
    options: RecordedCommandOptions,
    { output, recorder }: { output: CommandOutput; recorder: CommandRecorder },
  ) {
    this.#options = options;
    this.#output = output;
    this.#recorder = recorder;
  }

  /** Records what is new in the output. */
  update(output: string) {
    if (output.length <= this.#length) return;
    // A surrogate pair must not be split between two pieces.
    const end = /[\ud800-\udbff]$/.test(output) ? output.length - 1 : output.length;
    this.#recorder.push(Buffer.from(output.slice(this.#length, end)));
    this.#length = end;
  }

  async finish(exitCode: number | undefined): Promise<void> {
    const { command_id, emit } = this.#options;
    const duration_ms = Math.round(performance.now() - this.#startedAt);
    try {
      const stored = await this.#recorder.end();
      const omitted_bytes = await this.#output.end();
      await emit({
        type: "command.finished",
        data: {
          command_id,
          duration_ms,
          ...(exitCode === undefined ? {} : { exit_code: exitCode }),
          ...(omitted_bytes > 0 ? { omitted_bytes } : {}),
          ...stored,
        },
      });
    } finally {
      this.#recorder.remove();
    }
  }

  /** Removes what was collected of a command whose end is not recorded. */
  discard() {
    this.#recorder.remove();
  }
}
