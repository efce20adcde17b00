import { z } from "zod";
import { Failure, messageOf } from "../failure.ts";
import { CommandOutput } from "../output.ts";
import type { ExecResult } from "../workspace.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const DEFAULT_TIMEOUT_MS = 10 * 60_000;
const MAX_TIMEOUT_MS = 60 * 60_000;

export const RUN_COMMAND = "run_command";

const description = `Runs a shell command with bash in the workspace and waits for its end.
You get what it wrote and its exit code; of a long output only the beginning and the end.
There is no terminal and nobody to answer prompts: use options that ask nothing.`;

export const runCommand = defineTool({
  name: RUN_COMMAND,
  description,
  input: z.object({
    command: z.string().min(1),
    timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .meta({ description: "After this the command is killed. Default 600000." }),
  }),
  recordsItself: true,
  async run({ command, timeout_ms = DEFAULT_TIMEOUT_MS }, context) {
    const { call_id: command_id, emit } = context;
    await emit({ type: "command.started", data: { command_id, command } });
    const output = new CommandOutput((chunk) =>
      emit({ type: "command.output", data: { command_id, ...chunk } }),
    );
    const result = await exec(command, timeout_ms, output, context);
    const { exit_code, timed_out, duration_ms, artifact_id, changes = [] } = result;
    const omitted_bytes = await output.end();
    await emit({
      type: "command.finished",
      data: {
        command_id,
        duration_ms: Math.round(duration_ms),
        ...(exit_code === null ? {} : { exit_code }),
        ...(timed_out ? { timed_out: true } : {}),
        ...(omitted_bytes > 0 ? { omitted_bytes } : {}),
        ...(artifact_id === undefined ? {} : { artifact_id }),
      },
    });
    for (const change of changes) await emit({ type: "file.changed", data: change });
    return { output: "" };
  },
});

/** A command that cannot even begin has ended without an exit code, and its output says why. */
async function exec(
  command: string,
  timeoutMs: number,
  output: CommandOutput,
  { workspace, signal }: ToolContext,
): Promise<ExecResult> {
  const began = performance.now();
  try {
    return await workspace.exec(command, { signal, timeoutMs, onOutput: (chunk) => output.push(chunk) });
  } catch (error) {
    if (error instanceof Failure) {
      await output.end();
      throw error;
    }
    output.push({ stream: "stderr", text: messageOf(error) });
    return { exit_code: null, timed_out: false, duration_ms: performance.now() - began };
  }
}
