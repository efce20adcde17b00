import { inToolSpan } from "@outrider/telemetry/gen-ai";
import type { Span } from "@outrider/telemetry/spans";
import type { Checks } from "../checks/checks.ts";
import type { AgentEvent } from "../event.ts";
import { Failure, messageOf } from "../failure.ts";
import type { RunFiles } from "../files.ts";
import type { ToolCall } from "../models/model-call.ts";
import type { Tool, ToolContext, ToolResult } from "../tools/tool.ts";

export interface RunToolOptions
  extends Pick<ToolContext, "call_id" | "workspace" | "background" | "knownFiles"> {
  /** Undefined if no tool has this name. */
  tool: Tool | undefined;
  /** The reason why the call is rejected before it starts, if there is one. */
  rejection: string | undefined;
  /** Stops the call but not the turn. */
  interrupt: AbortSignal;
  /** Stops the turn. */
  halt: AbortSignal;
  emit(event: AgentEvent): Promise<void>;
  storeArtifact: RunFiles["storeArtifact"];
  /** The checks that run after an edit. */
  checks: Checks;
}

/**
 * Runs one tool call and records it. The model receives errors as the call's result, except a Failure, which ends the
 * turn.
 */
export async function runTool(call: ToolCall, options: RunToolOptions): Promise<void> {
  const { tool, rejection } = options;
  if (tool?.recordsItself && rejection === undefined) {
    await inToolSpan({ tool: tool.name, callId: options.call_id }, async (span) => {
      const { is_error } = await tool.run(call.input, toolContext(options));
      if (is_error) span.fail("tool_error");
    });
    return;
  }
  await recordCall(call, options);
  await runRecordedCall(call, options);
}

export async function recordCall({ tool, input }: ToolCall, options: RunToolOptions): Promise<void> {
  const { call_id, emit } = options;
  await emit({ type: "tool.called", data: { call_id, tool, input } });
}

/** Runs a call that is already in the log and records its result. */
export function runRecordedCall(call: ToolCall, options: RunToolOptions): Promise<void> {
  // The model may name a tool that does not exist.
  const tool = options.tool?.name ?? "unknown";
  return inToolSpan({ tool, callId: options.call_id }, (span) => runAndRecord(call, options, span));
}

async function runAndRecord(
  { tool: name, input }: ToolCall,
  options: RunToolOptions,
  span: Span,
): Promise<void> {
  const { call_id, tool, rejection, halt, emit } = options;
  const result: ToolResult =
    tool && rejection === undefined
      ? await options.checks.runTool(tool, input, toolContext(options)).catch((reason: unknown) => {
          halt.throwIfAborted();
          if (reason instanceof Failure) throw reason;
          return { output: messageOf(reason), is_error: true as const };
        })
      : { output: rejection ?? `There is no tool ${name}.`, is_error: true as const };
  if (result.is_error) span.fail("tool_error");
  const { images = [], ...rest } = result;
  const stored = await Promise.all(
    images.map(async ({ mime_type, data }, index) => {
      const artifact_id = await options.storeArtifact({ name: `${call_id}-${index + 1}`, mime_type, data });
      return { artifact_id, mime_type };
    }),
  );
  const imageData = stored.length > 0 ? { images: stored } : {};
  await emit({ type: "tool.returned", data: { call_id, tool: name, ...rest, ...imageData } });
}

function toolContext(options: RunToolOptions): ToolContext {
  const { call_id, workspace, background, knownFiles, halt, interrupt, emit } = options;
  return { call_id, workspace, background, knownFiles, emit, signal: AbortSignal.any([halt, interrupt]) };
}
