import { z } from "zod";
import type { ReadCommand } from "../background.ts";
import { defineTool, described, type ToolResult } from "./tool.ts";

const MAX_WAIT_MS = 10 * 60_000;

const command_id = z.string().min(1).meta({ description: "As run_command answered it." });

export const readOutput = defineTool({
  name: "read_output",
  description: described("read_output"),
  input: z.object({
    command_id,
    wait_ms: z
      .int()
      .min(0)
      .max(MAX_WAIT_MS)
      .optional()
      .meta({ description: "Wait so long for the command's end before you read. Default 0." }),
  }),
  async run({ command_id, wait_ms = 0 }, { background, signal }) {
    return answer(await background.read(command_id, { waitMs: wait_ms, signal }));
  },
});

export const stopCommand = defineTool({
  name: "stop_command",
  description: described("stop_command"),
  input: z.object({ command_id }),
  async run({ command_id }, { background }) {
    return answer(await background.stop(command_id));
  },
});

function answer({ text, state }: ReadCommand): ToolResult {
  return { output: `${text === "" || text.endsWith("\n") ? text : `${text}\n`}[${state}]` };
}
