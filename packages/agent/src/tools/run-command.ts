import { z } from "zod";
import { Failure, messageOf } from "../failure.ts";
import { CommandOutput } from "../output.ts";
import type { ExecResult, OutputChunk } from "../workspace.ts";
import { defineTool, loadDescription, type ToolContext, type ToolResult } from "./tool.ts";

const DEFAULT_TIMEOUT_MS = 10 * 60_000;
const MAX_TIMEOUT_MS = 60 * 60_000;

export const RUN_COMMAND = "run_command";

const Input = z.object({
  command: z.string().min(1),
  timeout_ms: z.int().min(1).max(MAX_TIMEOUT_MS).optional().meta({
    description: "The command is killed after this time. Default 600000; none for background commands.",
  }),
  background: z
    .boolean()
    .optional()
    .meta({ description: "Return at once and run the command in the background." }),
});

export const runCommand = defineTool({
  name: RUN_COMMAND,
  description: loadDescription(RUN_COMMAND),
  input: Input,
  recordsItself: true,
  async run(input, context) {
    return input.background ? startInBackground(input, context) : await runToEnd(input, context);
  },
});

async function runToEnd(
  { command, timeout_ms = DEFAULT_TIMEOUT_MS }: z.infer<typeof Input>,
  context: ToolContext,
): Promise<ToolResult> {
  const { call_id: command_id, emit } = context;
  await emit({ type: "command.started", data: { command_id, command } });
  const output = new CommandOutput((chunk) =>
    emit({ type: "command.output", data: { command_id, ...chunk } }),
  );
  const result = await exec(command, timeout_ms, output, context);
  const { exit_code, timed_out, duration_ms, artifact_id, output_path, changes = [] } = result;
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
      ...(output_path === undefined ? {} : { output_path }),
    },
  });
  for (const change of changes) await emit({ type: "file.changed", data: change });
  return { output: "" };
}

/** Runs a command. If it cannot start, the result has no exit code, and the output contains the reason. */
async function exec(
  command: string,
  timeoutMs: number,
  output: CommandOutput,
  { call_id: command_id, workspace, signal }: ToolContext,
): Promise<ExecResult> {
  const startedAt = performance.now();
  try {
    const onOutput = (chunk: OutputChunk) => output.push(chunk);
    return await workspace.exec(command, { command_id, signal, timeoutMs, onOutput });
  } catch (error) {
    if (error instanceof Failure) {
      await output.end();
      throw error;
    }
    output.push({ stream: "stderr", text: messageOf(error) });
    return { exit_code: null, timed_out: false, duration_ms: performance.now() - startedAt };
  }
}

/** Starts a command under its own ID, because it continues to emit events after this call has returned. */
async function startInBackground(input: z.infer<typeof Input>, context: ToolContext): Promise<ToolResult> {
  const { call_id, emit, background } = context;
  const { command, timeout_ms } = input;
  const command_id = `bg-${call_id}`;
  await emit({ type: "tool.called", data: { call_id, tool: RUN_COMMAND, input } });
  const result: { output: string; is_error?: true } = await background
    .start(command_id, { command, ...(timeout_ms ? { timeoutMs: timeout_ms } : {}) })
    .then(
      () => ({ output: `Started in the background as ${command_id}.` }),
      (error: unknown) => {
        if (error instanceof Failure) throw error;
        return { output: messageOf(error), is_error: true as const };
      },
    );
  await emit({ type: "tool.returned", data: { call_id, tool: RUN_COMMAND, ...result } });
  return result;
}
