import { Failure } from "@outrider/agent/failure";
import type { TurnContext } from "@outrider/agent/loop";
import { openModel } from "@outrider/agent/models/open";
import { assembleInstructions } from "@outrider/agent/prompt";
import { builtinTools } from "@outrider/agent/tools/builtin";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";

/** What the agent of one execution works with, made ready before its first turn. */
export interface Harness {
  /** What stays the same from turn to turn. */
  agent: Pick<
    TurnContext,
    "model" | "model_id" | "model_facts" | "prices" | "tools" | "instructions" | "output_schema"
  >;
  receipt: Pick<RunReceipt, "skill" | "mcp_servers">;
  close(): Promise<void>;
}

/** Rejects with a Failure where something that the run asks for cannot be had. */
export async function openHarness({ assignment }: { assignment: Assignment }): Promise<Harness> {
  const { model, agent_config, output_schema } = assignment;
  const { model_id, prices, unavailable } = model;
  if (unavailable) {
    throw new Failure("model_not_available", `${model_id} cannot be used any more: ${unavailable}.`);
  }
  const agent = {
    model: openModel(model, { cacheKey: assignment.run_id }),
    model_id,
    model_facts: model,
    prices,
    tools: builtinTools,
    instructions: assembleInstructions({ ...agent_config, model_id }),
    output_schema,
  };
  return { agent, receipt: {}, async close() {} };
}
