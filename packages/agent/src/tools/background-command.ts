import { z } from "zod";
import type { CommandStatus } from "../turn/background-commands.ts";
import { defineTool, loadDescription, type ToolResult } from "./tool.ts";

const MAX_WAIT_MS = 10 * 60_000;

const command_id = z.string().min(1).meta({ description: "The id that run_command returned." });

export const readOutput = defineTool({
  name: "read_output",
  description: loadDescription("read_output"),
  input: z.object({
    command_id,
    wait_ms: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .optional()
      .meta({ description: "How long to wait for the command to end before reading. Default 0." }),
  }),
  async run({ command_id, wait_ms = 0 }, { background, signal }) {
    return toResult(await background.read(command_id, { waitMs: wait_ms, signal }));
  },
});

export const stopCommand = defineTool({
  name: "stop_command",
  description: loadDescription("stop_command"),
  input: z.object({ command_id }),
  async run({ command_id }, { background }) {
    return toResult(await background.stop(command_id));
  },
});

function toResult({ text, state }: CommandStatus): ToolResult {
  return { output: `${text === "" || text.endsWith("\n") ? text : `${text}\n`}[${state}]` };
}
