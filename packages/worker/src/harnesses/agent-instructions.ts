/**
 * The instructions of a run, which are the same for all harnesses: facts about its environment, the repositories'
 * AGENTS.md and similar files, the skills, and the base prompt. Outrider's own loop also gets guidance for its tools.
 */
import { messageOf } from "@outrider/agent/failure";
import { assembleInstructions } from "@outrider/agent/instructions/assemble";
import type { Guide } from "@outrider/agent/instructions/guide-text";
import type { PublishingParts } from "@outrider/agent/instructions/publishing-text";
import { OTHER_AGENT_MCP_NOTE } from "@outrider/agent/mcp/tools";
import { PUBLISH_CHANGES } from "@outrider/agent/tools/publish-changes";
import type { Assignment } from "@outrider/contract/worker";
import { skillServerName } from "../mcp/bridge/skill-server.ts";
import { installSkill } from "../skills/install-skill.ts";
import { OnDemandSkills } from "../skills/on-demand-skills.ts";
import { type RunSkill, readSkill } from "../skills/read-skill.ts";
import { resolveSkillSource } from "../skills/resolve-skill.ts";
import type { HarnessOptions, HarnessReceipt } from "./harness.ts";
import {
  environmentFacts,
  type GuideName,
  guideNames,
  inspectSandbox,
  type Surroundings,
} from "./instructions.ts";

export interface AgentInstructions {
  text: string;
  /** The skills that the agent can load while it works. */
  skills: OnDemandSkills;
  /** Changes when the agent loads a skill. */
  readonly receipt: Pick<HarnessReceipt, "skill" | "skills_used">;
}

/** What is known about an agent other than Outrider's own loop. */
export interface InstructedAgent {
  /** The files in the working folder that the agent reads by itself. */
  readsGuides: readonly GuideName[];
  /** Whether the agent uses the MCP bridge. */
  hasBridge: boolean;
}

/**
 * Opens the run's skills and builds its instructions. Without `agent`, they are for Outrider's own loop. Rejects with a
 * Failure if the run's skill is not available.
 */
export async function openInstructions(
  options: HarnessOptions,
  agent?: InstructedAgent,
): Promise<AgentInstructions> {
  const skill = await openSkill(options);
  const skills = await listSkills(options);
  const text = await buildInstructions(options, { agent, skill, skills });
  return {
    text,
    skills,
    get receipt() {
      return {
        ...(skill ? { skill: skill.receipt } : {}),
        ...(skills.used.length > 0 ? { skills_used: skills.used } : {}),
      };
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

interface Parts {
  agent: InstructedAgent | undefined;
  skill: RunSkill | undefined;
  skills: OnDemandSkills;
}

/** Builds the text. Only a run with a build inspects its sandbox, because other runs may never open one. */
async function buildInstructions(options: HarnessOptions, { agent, skill, skills }: Parts): Promise<string> {
  const { assignment, workspace, redactor, signal, emitNotice } = options;
  const { model, agent_config } = assignment;
  const { prepared, workingFolder } = workspace;
  const repositories = prepared?.repositories ?? [];
  const names = [...new Set([...(agent?.readsGuides ?? []), ...guideNames])];
  let surroundings: Partial<Surroundings> = {};
  if (prepared) {
    const inspected = inspectSandbox(await workspace.open(), { repositories, names, redactor, signal });
    surroundings = await inspected.catch((error: unknown) => {
      signal.throwIfAborted();
      const message = `Cannot read the repositories' instructions for agents: ${messageOf(error)}`;
      emitNotice({ code: "no_guides", message });
      return {};
    });
  }
  const { checks, ...environment } = environmentFacts(assignment, {
    ...{ ...surroundings, repositories, working_folder: workingFolder, build: prepared?.build },
  });
  const { guides = [] } = surroundings;
  const check_commands = assignment.environment?.checks?.map(({ command }) => command);
  const servers = Object.keys(agent_config.mcp_servers ?? {});
  const instructions = assembleInstructions({
    base_prompt: agent_config.base_prompt,
    skill: skill?.text,
    skills: skills.listed,
    ...(agent
      ? {
          environment: { ...environment, check_commands },
          guides: withoutOwnGuide(guides, { agent, workingFolder }),
          skill_server: agent.hasBridge ? skillServerName(servers) : undefined,
        }
      : { model_id: model.model_id, environment: { ...environment, checks }, guides }),
    publishing: publishingParts(assignment, toolName(agent, servers)),
  });
  const note = agent && servers.length > 0 ? [OTHER_AGENT_MCP_NOTE] : [];
  // An attempt compares its instructions with those in the log, which are redacted.
  return redactor.redact([instructions, ...note].join("\n\n"));
}

/** Returns how the agent names the tool that publishes changes. */
function toolName(agent: InstructedAgent | undefined, servers: string[]): string | undefined {
  if (!agent) return `\`${PUBLISH_CHANGES}\``;
  return agent.hasBridge
    ? `the tool \`${PUBLISH_CHANGES}\` of the MCP server \`${skillServerName(servers)}\``
    : undefined;
}

function publishingParts({ publishing }: Assignment, tool: string | undefined): PublishingParts | undefined {
  const repositories = (publishing?.repositories ?? []).flatMap(
    ({ path, branch, kind, when = "on_request" }) => (kind === "none" ? [] : [{ path, branch, kind, when }]),
  );
  return repositories.length > 0 ? { repositories, tool } : undefined;
}

/** Omits the file that the agent reads by itself, which is only one in its working folder. */
export function withoutOwnGuide(
  guides: readonly Guide[],
  { agent, workingFolder }: { agent: InstructedAgent; workingFolder: string },
): Guide[] {
  const isOwn = ({ folder, file }: Guide) =>
    folder === workingFolder && agent.readsGuides.some((name) => name === file?.name);
  return guides.map((guide) => (isOwn(guide) ? { ...guide, file: undefined } : guide));
}
