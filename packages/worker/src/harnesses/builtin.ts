import { Failure, messageOf } from "@outrider/agent/failure";
import { assembleInstructions } from "@outrider/agent/instructions/assemble";
import { familyOf, familyTools } from "@outrider/agent/instructions/family";
import { MCP_NOTE } from "@outrider/agent/mcp/tools";
import { openModel } from "@outrider/agent/models/open-model";
import { builtinTools } from "@outrider/agent/tools/builtin";
import { createFetchUrl } from "@outrider/agent/tools/fetch-url";
import { createUseSkill } from "@outrider/agent/tools/use-skill";
import { runTurn } from "@outrider/agent/turn/run-turn";
import { openMcpServers } from "../mcp/servers.ts";
import { installSkill } from "../skills/install-skill.ts";
import { OnDemandSkills } from "../skills/on-demand-skills.ts";
import { type RunSkill, readSkill } from "../skills/read-skill.ts";
import { resolveSkillSource } from "../skills/resolve-skill.ts";
import { openPageFetcher, type PageFetcher } from "../web/page-fetcher.ts";
import type { Harness, HarnessOptions } from "./harness.ts";
import { environmentFacts, inspectSandbox, type Surroundings } from "./instructions.ts";

/** Opens Outrider's own loop. Its model, tools and instructions are the same in all turns. */
export async function openBuiltin(options: HarnessOptions): Promise<Harness> {
  const { assignment } = options;
  const { model, agent_config, output_schema } = assignment;
  const { model_id, prices, unavailable } = model;
  if (unavailable) {
    throw new Failure("model_not_available", `The model ${model_id} is no longer available: ${unavailable}.`);
  }
  const skill = await openSkill(options);
  const skills = await listSkills(options);
  const instructions = await buildInstructions(options, { skill, skills });
  const openedModel = await openModel(model, {
    cacheKey: assignment.run_id,
    reasoningEffort: agent_config.reasoning_effort,
  });
  const pages = openPages(options);
  // Opened last, because an error after this would leave servers running.
  const hasServers = Object.keys(agent_config.mcp_servers ?? {}).length > 0;
  const mcp = hasServers ? await openMcpServers(options) : undefined;
  const tools = [
    ...familyTools(familyOf(model_id), builtinTools),
    createFetchUrl(pages.fetchPage),
    ...(skills.listed.length > 0 ? [createUseSkill((name, signal) => skills.load(name, signal))] : []),
    ...(mcp?.tools ?? []),
  ];
  const agent = {
    model: openedModel,
    model_id,
    model_facts: model,
    prices,
    tools,
    checks: assignment.environment?.checks,
    instructions: mcp ? `${instructions}\n\n${MCP_NOTE}` : instructions,
    output_schema,
  };
  return {
    turn: (input, io) => runTurn({ ...agent, ...input, ...io }),
    get receipt() {
      return {
        ...(skill ? { skill: skill.receipt } : {}),
        ...(skills.used.length > 0 ? { skills_used: skills.used } : {}),
        ...(mcp ? { mcp_servers: mcp.receipt } : {}),
      };
    },
    async close() {
      pages.close();
      await mcp?.close();
    },
  };
}

async function openSkill(options: HarnessOptions): Promise<RunSkill | undefined> {
  const { assignment, workspace, builds, signal, emitNotice } = options;
  const { skill_spec } = assignment.agent_config;
  if (skill_spec === undefined) return undefined;
  const { repositories } = builds;
  const checkedOut = workspace.prepared?.repositories ?? [];
  const source = await resolveSkillSource(skill_spec, { assignment, checkedOut, repositories, signal });
  const skill = await readSkill(source, signal);
  for (const message of skill.problems) emitNotice({ code: "skill", message });
  await addSkillFiles(options, skill);
  return skill;
}

async function addSkillFiles(
  { workspace, builds, signal }: HarnessOptions,
  { files, text }: RunSkill,
): Promise<void> {
  if (!files) return;
  // If the skill's repository is new in the cache, the cache may now exceed its limit.
  void builds.repositories.prune({ keep: [], maxBytes: builds.maxMirrorBytes }).catch(() => {});
  await workspace.addSetup((sandbox) => installSkill(sandbox, { folder: text.folder, files, signal }));
}

/** Opens the client of `fetch_url`, which reaches what the run's sandbox reaches. */
function openPages({ assignment, builds, exceptions, emitNotice, signal }: HarnessOptions): PageFetcher {
  const { network = { mode: "none" }, git_host } = assignment.environment ?? {};
  const dial = builds.egressSessions.openDial({ ...network, git_host }, { onRefused: emitNotice, signal });
  return openPageFetcher({ dial, exceptions });
}

function listSkills(options: HarnessOptions): Promise<OnDemandSkills> {
  const { assignment, workspace, builds, redactor, signal, emitNotice } = options;
  return OnDemandSkills.list({
    ...{ assignment, redactor, signal, emitNotice },
    prepared: workspace.prepared,
    repositories: builds.repositories,
    install: (skill) => addSkillFiles(options, skill),
    onUsed: options.onReceiptChanged,
  });
}

/** Builds the system prompt. Only a run with a build inspects its sandbox, because other runs may never open one. */
async function buildInstructions(
  options: HarnessOptions,
  { skill, skills }: { skill: RunSkill | undefined; skills: OnDemandSkills },
): Promise<string> {
  const { assignment, workspace, redactor, signal, emitNotice } = options;
  const { model, agent_config } = assignment;
  const { prepared } = workspace;
  const repositories = prepared?.repositories ?? [];
  let surroundings: Partial<Surroundings> = {};
  if (prepared) {
    surroundings = await inspectSandbox(await workspace.open(), { repositories, redactor, signal }).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        const message = `Cannot read the repositories' instructions for agents: ${messageOf(error)}`;
        emitNotice({ code: "no_guides", message });
        return {};
      },
    );
  }
  const instructions = assembleInstructions({
    model_id: model.model_id,
    base_prompt: agent_config.base_prompt,
    skill: skill?.text,
    environment: environmentFacts(assignment, {
      ...{ ...surroundings, repositories, working_folder: workspace.workingFolder, build: prepared?.build },
    }),
    guides: surroundings.guides,
    skills: skills.listed,
  });
  // An attempt compares its instructions with those in the log, which are redacted.
  return redactor.redact(instructions);
}
