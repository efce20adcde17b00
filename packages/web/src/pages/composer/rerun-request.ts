import type { RunAgentRequest, RunItem } from "@outrider/sdk";
import { draftOfRun } from "./draft-from-run.ts";
import { requestOf } from "./request.ts";

/** Returns the request that repeats a run. Throws if the run does not reveal all of its input. */
export function rerunRequest(run: RunItem): RunAgentRequest {
  const result = requestOf(draftOfRun(run));
  if ("request" in result) return result.request;
  throw new Error(
    "Values of its MCP servers are hidden. Open the run and choose Re-run to enter them again.",
  );
}
