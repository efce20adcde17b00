import { Failure, messageOf } from "@outrider/agent/failure";
import { MCP_NOTE } from "@outrider/agent/mcp/tools";
import { openModel } from "@outrider/agent/models/open";
import { assembleInstructions } from "@outrider/agent/prompt";
import { builtinTools } from "@outrider/agent/tools/builtin";
import type { TurnContext } from "@outrider/agent/turn";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { BuildContext } from "./build.ts";
import { lookAround, placeOf, type Surroundings } from "./instructions.ts";
import { type McpOptions, openMcpServers } from "./mcp/servers.ts";
import { putSkill } from "./skills/put.ts";
import { type RunSkill, readSkill } from "./skills/read.ts";
import { resolveSource } from "./skills/resolve.ts";
import type { RunWorkspace } from "./workspace.ts";

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

export interface HarnessOptions extends McpOptions {
  assignment: Assignment;
  workspace: RunWorkspace;
  builds: Pick<BuildContext, "repositories" | "maxMirrorBytes">;
}

/** Rejects with a Failure where something that the run asks for cannot be had. */
export async function openHarness(options: HarnessOptions): Promise<Harness> {
  const { assignment } = options;
  const { model, agent_config, output_schema } = assignment;
  const { model_id, prices, unavailable } = model;
  if (unavailable) {
    throw new Failure("model_not_available", `${model_id} cannot be used any more: ${unavailable}.`);
  }
  const skill = await openSkill(options);
  const instructions = await instructionsOf(options, skill);
  const opened = openModel(model, { cacheKey: assignment.run_id });
  // Last: what could still fail after it would leave servers behind.
  const hasServers = Object.keys(agent_config.mcp_servers ?? {}).length > 0;
  const mcp = hasServers ? await openMcpServers(options) : undefined;
  const agent = {
    model: opened,
    model_id,
    model_facts: model,
    prices,
    tools: mcp ? [...builtinTools, ...mcp.tools] : builtinTools,
    instructions: mcp ? `${instructions}\n\n${MCP_NOTE}` : instructions,
    output_schema,
  };
  return {
    agent,
    receipt: {
      ...(skill ? { skill: skill.receipt } : {}),
      ...(mcp ? { mcp_servers: mcp.receipt } : {}),
    },
    async close() {
      await mcp?.close();
    },
  };
}

async function openSkill({
  assignment,
  workspace,
  builds,
  signal,
}: HarnessOptions): Promise<RunSkill | undefined> {
  const { skill_spec } = assignment.agent_config;
  if (skill_spec === undefined) return undefined;
  const { repositories, maxMirrorBytes } = builds;
  const checkedOut = workspace.prepared?.repositories ?? [];
  const source = await resolveSource(skill_spec, { assignment, checkedOut, repositories, signal });
  const skill = await readSkill(source, signal);
  const { files, text } = skill;
  if (!files) return skill;
  // Anybody's repository may have been fetched for it.
  void repositories.prune({ keep: [], maxBytes: maxMirrorBytes }).catch(() => {});
  await workspace.furnish((sandbox) => putSkill(sandbox, { folder: text.folder, files, signal }));
  return skill;
}

/** Only a run that has something prepared is looked at from inside: for any other that would open a sandbox. */
async function instructionsOf(options: HarnessOptions, skill: RunSkill | undefined): Promise<string> {
  const { assignment, workspace, signal, notice } = options;
  const { model, agent_config } = assignment;
  const { prepared } = workspace;
  const repositories = prepared?.repositories ?? [];
  let seen: Partial<Surroundings> = {};
  if (prepared) {
    seen = await lookAround(await workspace.open(), { repositories, signal }).catch((error: unknown) => {
      signal.throwIfAborted();
      const message = `What the repositories tell agents cannot be read: ${messageOf(error)}`;
      notice({ code: "no_guides", message });
      return {};
    });
  }
  return assembleInstructions({
    model_id: model.model_id,
    base_prompt: agent_config.base_prompt,
    skill: skill?.text,
    place: placeOf(assignment, { ...seen, repositories }),
    guides: seen.guides,
  });
}
