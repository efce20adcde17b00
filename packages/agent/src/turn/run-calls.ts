/**
 * Runs the tool calls of one answer.
 *
 * Successive calls that change nothing run at the same time. Every other call waits for all calls before it, and all
 * calls after it wait for it, so reads see the writes that precede them in the answer.
 *
 * The calls of a parallel group are all recorded before the first of them runs, in the order of the answer. Their
 * results are recorded as they arrive. The conversation matches results to calls by ID, so it always lists them in the
 * order of the answer.
 */

import type { ToolCall } from "../models/model-call.ts";
import type { Tool } from "../tools/tool.ts";
import { type RunToolOptions, recordCall, runRecordedCall, runTool } from "./run-tool.ts";

/** Each call may start processes in the sandbox. */
const MAX_PARALLEL_CALLS = 8;

interface RunCallsOptions {
  tools: readonly Tool[];
  interrupt: AbortSignal;
  halt: AbortSignal;
  nextCallId(): string;
  /** Returns the reason why a call cannot start now, if there is one. */
  rejectionOf(call: ToolCall): string | undefined;
  /** The options that all calls share. */
  shared: Pick<
    RunToolOptions,
    "workspace" | "background" | "knownFiles" | "checks" | "emit" | "storeArtifact"
  >;
}

export async function runCalls(calls: readonly ToolCall[], options: RunCallsOptions): Promise<void> {
  for (const group of groupCalls(calls, options.tools)) {
    options.halt.throwIfAborted();
    const [first] = group;
    if (first && group.length === 1) await runTool(first, optionsFor(first, options));
    else await runInParallel(group, options);
  }
}

/** Splits the calls into groups that run one after another. */
function groupCalls(calls: readonly ToolCall[], tools: readonly Tool[]): ToolCall[][] {
  const readOnly = new Set(tools.filter(({ isReadOnly }) => isReadOnly).map(({ name }) => name));
  const groups: ToolCall[][] = [];
  let canJoin = false;
  for (const call of calls) {
    const changesNothing = call.error !== undefined || readOnly.has(call.tool);
    if (canJoin && changesNothing) groups.at(-1)?.push(call);
    else groups.push([call]);
    canJoin = changesNothing;
  }
  return groups;
}

async function runInParallel(group: readonly ToolCall[], options: RunCallsOptions) {
  const failed = new AbortController();
  const interrupt = AbortSignal.any([options.interrupt, failed.signal]);
  const waiting: { call: ToolCall; call_id: string }[] = [];
  for (const call of group) {
    const recorded = optionsFor(call, options);
    await recordCall(call, recorded);
    waiting.push({ call, call_id: recorded.call_id });
  }
  const runNext = async () => {
    for (let next = waiting.shift(); next && !failed.signal.aborted; next = waiting.shift()) {
      const { call, call_id } = next;
      await runRecordedCall(call, { ...optionsFor(call, options), interrupt, call_id });
    }
  };
  const runners = Array.from({ length: Math.min(MAX_PARALLEL_CALLS, group.length) }, () =>
    runNext().catch((error: unknown) => {
      failed.abort();
      throw error;
    }),
  );
  // Nothing may be recorded after the turn has ended, so a failure waits for the other calls.
  const results = await Promise.allSettled(runners);
  const rejected = results.find((result) => result.status === "rejected");
  if (rejected) throw rejected.reason;
}

function optionsFor(call: ToolCall, options: RunCallsOptions): RunToolOptions {
  const { tools, interrupt, halt, nextCallId, rejectionOf, shared } = options;
  return {
    ...shared,
    interrupt,
    halt,
    call_id: nextCallId(),
    tool: tools.find(({ name }) => name === call.tool),
    rejection: rejectionOf(call),
  };
}
