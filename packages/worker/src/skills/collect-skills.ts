import { discoverSkills } from "@outrider/agent/skills/discover";
import { chooseSkill } from "@outrider/agent/skills/find-by-name";
import { repositoryName } from "@outrider/agent/skills/spec";
import { SkillSpecText } from "@outrider/contract/agent-config";
import { FoundSkill } from "@outrider/contract/skill";
import { openCommit } from "../repositories/commit-reader.ts";

const MAX_SKILLS = 500;

interface Source {
  url: string;
  commit: string;
  mirror: string;
}

/** Lists the skills that runs can use from these repositories, each with the shortest spec that identifies it. */
export async function collectSkills(
  repositories: readonly Source[],
  signal: AbortSignal,
): Promise<FoundSkill[]> {
  const skills = await Promise.all(repositories.map((repository) => listSkillsOf(repository, signal)));
  const bySpec = new Map(skills.flat().map((skill) => [skill.skill_spec, skill]));
  return [...bySpec.values()].slice(0, MAX_SKILLS);
}

async function listSkillsOf({ url, mirror, commit }: Source, signal: AbortSignal): Promise<FoundSkill[]> {
  const repository = repositoryName(url);
  if (!repository) return [];
  const { owner, repo } = repository;
  const { candidates } = await discoverSkills(openCommit({ mirror, commit, signal }), repo);
  const usable = candidates.filter(({ problem }) => problem === undefined);
  return usable.flatMap(({ name, description, path, id }) => {
    const [chosen, another] = chooseSkill(candidates, name);
    const isUnambiguous = chosen?.path === path && !another;
    // A skill with the same content is already listed under another path.
    if (chosen?.id === id && !isUnambiguous && !another) return [];
    const specs = [...(isUnambiguous ? [name] : []), path].map((skill) => `${owner}/${repo}:${skill}`);
    const skill_spec = specs.find((spec) => SkillSpecText.safeParse(spec).success);
    // Without a name of its own, a skill has the name of its folder, which can be of any length.
    const found = FoundSkill.safeParse({ name, description, skill_spec });
    return found.success ? [found.data] : [];
  });
}
