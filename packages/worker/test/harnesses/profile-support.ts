import type { AgentSetup, ToolCallState } from "../../src/harnesses/acp/profile.ts";
import { readSessionUpdate, type ToolCallUpdate } from "../../src/harnesses/acp/session-update.ts";
import { applyUpdate, createToolCall } from "../../src/harnesses/acp/tool-call-state.ts";

export const setup: AgentSetup = {
  gatewayUrl: "http://127.0.0.1:4000",
  wireFormat: "anthropic-messages",
  model: { id: "scripted", context_tokens: 200_000, supports_images: false },
  smallModelId: "small",
  instructions: "Be brief.",
  home: "/home/agent",
  workingFolder: "/workspace",
  node: "/opt/node",
  packages: "/opt/agent/node_modules",
};

/** Returns the state of a call after these updates, as the agent sends them. */
export function callOf(...updates: object[]): ToolCallState {
  const read = updates.map((update, index) => {
    const sessionUpdate = index === 0 ? "tool_call" : "tool_call_update";
    const params = { sessionId: "1", update: { sessionUpdate, toolCallId: "call_1", ...update } };
    return readSessionUpdate(params)?.update as ToolCallUpdate;
  });
  const call = createToolCall(read[0] as ToolCallUpdate);
  for (const update of read) applyUpdate(call, update);
  return call;
}
