import { chooseSkill } from "@outrider/agent/skills/choose";
import { discoverSkills } from "@outrider/agent/skills/discover";
import { repositoryName } from "@outrider/agent/skills/spec";
import { SkillSpecText } from "@outrider/contract/agent-config";
import type { FoundSkill } from "@outrider/contract/skill";
import { openCommit } from "../repositories/commit-files.ts";

const SKILLS = 500;

interface Source {
  url: string;
  commit: string;
  mirror: string;
}

/** The skills that runs can use from these repositories, each by the shortest spec that means it. */
export async function collectSkills(
  repositories: readonly Source[],
  signal: AbortSignal,
): Promise<FoundSkill[]> {
  const all = await Promise.all(repositories.map((repository) => skillsOf(repository, signal)));
  const bySpec = new Map(all.flat().map((skill) => [skill.skill_spec, skill]));
  return [...bySpec.values()].slice(0, SKILLS);
}

async function skillsOf({ url, mirror, commit }: Source, signal: AbortSignal): Promise<FoundSkill[]> {
  const repository = repositoryName(url);
  if (!repository) return [];
  const { owner, repo } = repository;
  const { candidates } = await discoverSkills(openCommit({ mirror, commit, signal }), repo);
  const usable = candidates.filter(({ problem }) => problem === undefined);
  return usable.flatMap(({ name, description, path, id }) => {
    const [chosen, another] = chooseSkill(candidates, name);
    const isMeant = chosen?.path === path && !another;
    // The same text elsewhere is the same skill.
    if (chosen?.id === id && !isMeant && !another) return [];
    const specs = [...(isMeant ? [name] : []), path].map((skill) => `${owner}/${repo}:${skill}`);
    const skill_spec = specs.find((spec) => SkillSpecText.safeParse(spec).success);
    return skill_spec ? [{ name, description, skill_spec }] : [];
  });
}
