import { z } from "zod";
import type { ToolCallState } from "./profile.ts";
import type { ToolCallUpdate } from "./session-update.ts";

/** The output of a command that is considered. Agents shorten the output much more for their models. */
const MAX_OUTPUT_CHARACTERS = 2 * 2 ** 20;

const TerminalOutput = z.object({ data: z.string() });
const TerminalExit = z.object({ exit_code: z.int().nullable() });

export function createToolCall({ toolCallId }: ToolCallUpdate): ToolCallState {
  return {
    id: toolCallId,
    title: "",
    name: undefined,
    kind: undefined,
    status: "pending",
    rawInput: undefined,
    rawOutput: undefined,
    content: [],
    meta: {},
    terminalOutput: "",
    terminalExit: undefined,
  };
}

/** Adds an update to a call. A field that is absent in the update stays as it is. */
export function applyUpdate(call: ToolCallState, update: ToolCallUpdate) {
  const { title, name, kind, status, content, rawInput, rawOutput, _meta: meta = {} } = update;
  call.title = title ?? call.title;
  call.name = name ?? call.name;
  call.kind = kind ?? call.kind;
  call.status = status ?? call.status;
  call.content = content ?? call.content;
  call.rawInput = rawInput ?? call.rawInput;
  call.rawOutput = rawOutput ?? call.rawOutput;
  call.meta = { ...call.meta, ...meta };
  for (const field of [meta.terminal_output, meta.terminal_output_delta]) {
    const { data = "" } = TerminalOutput.safeParse(field).data ?? {};
    call.terminalOutput += data.slice(0, MAX_OUTPUT_CHARACTERS - call.terminalOutput.length);
  }
  const exit = TerminalExit.safeParse(meta.terminal_exit).data;
  if (exit) call.terminalExit = { exitCode: exit.exit_code };
}

/** The text in the content of a call. */
export function textOf({ content }: ToolCallState): string {
  return content
    .flatMap(({ content: block }) => (block?.type === "text" && block.text !== undefined ? [block.text] : []))
    .join("\n");
}
