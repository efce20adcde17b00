import { Failure } from "@outrider/agent/failure";
import type { TurnContext } from "@outrider/agent/loop";
import { MCP_NOTE } from "@outrider/agent/mcp/tools";
import { openModel } from "@outrider/agent/models/open";
import { assembleInstructions } from "@outrider/agent/prompt";
import { builtinTools } from "@outrider/agent/tools/builtin";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { type McpOptions, openMcpServers } from "./mcp/servers.ts";

/** What the agent of one execution works with, made ready before its first turn. */
export interface Harness {
  /** What stays the same from turn to turn. */
  agent: Pick<TurnContext, "model" | "model_id" | "prices" | "tools" | "instructions">;
  receipt: Pick<RunReceipt, "skill" | "mcp_servers">;
  close(): Promise<void>;
}

export type HarnessOptions = McpOptions & { assignment: Assignment };

/** Rejects with a Failure where something that the run asks for cannot be had. */
export async function openHarness(options: HarnessOptions): Promise<Harness> {
  const { assignment } = options;
  const { model, agent_config } = assignment;
  const { model_id, prices, unavailable } = model;
  if (unavailable) {
    throw new Failure("model_not_available", `${model_id} cannot be used any more: ${unavailable}.`);
  }
  const hasServers = Object.keys(agent_config.mcp_servers ?? {}).length > 0;
  const mcp = hasServers ? await openMcpServers(options) : undefined;
  const instructions = assembleInstructions({ ...agent_config, model_id });
  const agent = {
    model: openModel(model, { cacheKey: assignment.run_id }),
    model_id,
    prices,
    tools: mcp ? [...builtinTools, ...mcp.tools] : builtinTools,
    instructions: mcp ? `${instructions}\n\n${MCP_NOTE}` : instructions,
  };
  return {
    agent,
    receipt: mcp ? { mcp_servers: mcp.receipt } : {},
    async close() {
      await mcp?.close();
    },
  };
}
