import { Failure } from "@outrider/agent/failure";
import { familyOf, familyTools } from "@outrider/agent/instructions/family";
import { MCP_NOTE, toTool } from "@outrider/agent/mcp/tools";
import { openModel } from "@outrider/agent/models/open-model";
import { builtinTools } from "@outrider/agent/tools/builtin";
import { createFetchUrl } from "@outrider/agent/tools/fetch-url";
import { createPublishChanges } from "@outrider/agent/tools/publish-changes";
import { createUseSkill } from "@outrider/agent/tools/use-skill";
import { runTurn } from "@outrider/agent/turn/run-turn";
import { checkedSend } from "../gateway/send-post.ts";
import { openMcpServers } from "../mcp/servers.ts";
import { openPageFetcher, type PageFetcher } from "../web/page-fetcher.ts";
import { openInstructions } from "./agent-instructions.ts";
import type { Harness, HarnessOptions } from "./harness.ts";

/** Opens Outrider's own loop. Its model, tools and instructions are the same in all turns. */
export async function openBuiltin(options: HarnessOptions): Promise<Harness> {
  const { assignment, publishing } = options;
  const { model, agent_config, output_schema } = assignment;
  const { model_id, prices, unavailable } = model;
  if (unavailable) {
    throw new Failure("model_not_available", `The model ${model_id} is no longer available: ${unavailable}.`);
  }
  const instructions = await openInstructions(options);
  const { text, skills } = instructions;
  const openedModel = await openModel(model, {
    cacheKey: assignment.run_id,
    reasoningEffort: agent_config.reasoning_effort,
    send: checkedSend(model),
  });
  const pages = openPages(options);
  // Opened last, because an error after this would leave servers running.
  const hasServers = Object.keys(agent_config.mcp_servers ?? {}).length > 0;
  const mcp = hasServers ? await openMcpServers(options) : undefined;
  const tools = [
    ...familyTools(familyOf(model_id), builtinTools),
    createFetchUrl(pages.fetchPage),
    ...(skills.listed.length > 0 ? [createUseSkill((name, signal) => skills.load(name, signal))] : []),
    ...(publishing ? [createPublishChanges((input, signal) => publishing.byAgent(input, signal))] : []),
    ...(mcp?.tools ?? []).map(toTool),
  ];
  const agent = {
    model: openedModel,
    model_id,
    model_facts: model,
    prices,
    tools,
    checks: assignment.environment?.checks,
    instructions: mcp ? `${text}\n\n${MCP_NOTE}` : text,
    output_schema,
  };
  return {
    turn: (input, io) => runTurn({ ...agent, ...input, ...io }),
    get receipt() {
      return {
        ...instructions.receipt,
        ...(mcp ? { mcp_servers: mcp.receipt } : {}),
      };
    },
    async close() {
      pages.close();
      await mcp?.close();
    },
  };
}

/** Opens the client of `fetch_url`, which reaches what the run's sandbox reaches. */
function openPages({ assignment, builds, exceptions, emitNotice, signal }: HarnessOptions): PageFetcher {
  const { network = { mode: "none" }, git_host } = assignment.environment ?? {};
  const dial = builds.egressSessions.openDial({ ...network, git_host }, { onRefused: emitNotice, signal });
  return openPageFetcher({ dial, exceptions });
}
