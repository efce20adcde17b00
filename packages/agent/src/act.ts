import type { AgentEvent } from "./event.ts";
import { Failure, messageOf } from "./failure.ts";
import type { RunFiles } from "./files.ts";
import type { ToolCall } from "./model-call.ts";
import type { Tool, ToolContext, ToolResult } from "./tools/tool.ts";

export interface ActOptions extends Pick<ToolContext, "call_id" | "workspace" | "background"> {
  /** Undefined where there is none of that name. */
  tool: Tool | undefined;
  /** Why the call is not even begun. */
  refusal: string | undefined;
  /** Stops the call; the turn goes on. */
  interrupt: AbortSignal;
  /** Stops the turn. */
  halt: AbortSignal;
  emit(event: AgentEvent): Promise<void>;
  keep: RunFiles["keep"];
}

/** Carries out one call of a tool. What goes wrong with it is for the model to read, but for a Failure, which ends the turn. */
export async function act({ tool: name, input }: ToolCall, options: ActOptions): Promise<void> {
  const { call_id, tool, refusal, workspace, background, halt, interrupt, emit } = options;
  const context = { call_id, workspace, background, emit, signal: AbortSignal.any([halt, interrupt]) };
  if (tool?.recordsItself && refusal === undefined) {
    await tool.run(input, context);
    return;
  }
  await emit({ type: "tool.called", data: { call_id, tool: name, input } });
  const result: ToolResult =
    tool && refusal === undefined
      ? await tool.run(input, context).catch((reason: unknown) => {
          halt.throwIfAborted();
          if (reason instanceof Failure) throw reason;
          return { output: messageOf(reason), is_error: true as const };
        })
      : { output: refusal ?? `There is no tool ${name}.`, is_error: true as const };
  const { images = [], ...said } = result;
  const kept = await Promise.all(
    images.map(async ({ mime_type, data }, index) => {
      const artifact_id = await options.keep({ name: `${call_id}-${index + 1}`, mime_type, data });
      return { artifact_id, mime_type };
    }),
  );
  const shown = kept.length > 0 ? { images: kept } : {};
  await emit({ type: "tool.returned", data: { call_id, tool: name, ...said, ...shown } });
}
