import { skillName } from "@outrider/contract/agent-config";

/** A `skill_spec`, taken apart. Its grammar is checked where a run is created. */
export interface SkillSpec {
  text: string;
  owner: string;
  repo: string;
  /** Exactly one of the two. */
  path?: string;
  name?: string;
  /** What the skill is called until its front matter is read. */
  label: string;
}

export function parseSkillSpec(text: string): SkillSpec {
  const [repository = "", skill = ""] = text.split(":");
  const [owner = "", repo = ""] = repository.split("/");
  const wanted = skill.endsWith("SKILL.md") ? { path: skill } : { name: skill };
  return { text, owner, repo, ...wanted, label: skillName(text) };
}

/** Owner and name of a repository, as the last two parts of its address. */
export function repositoryName(url: string): { owner: string; repo: string } | undefined {
  const parts = url
    .replace(/^[a-z]+:\/\/[^/]*/, "")
    .split(/[/:]/)
    .filter((part) => part !== "");
  const [owner, repo] = [parts.at(-2), parts.at(-1)?.replace(/\.git$/, "")];
  return owner && repo ? { owner, repo } : undefined;
}

/** Git hosts take a name in any case for the same. */
export function isRepository(url: string, { owner, repo }: SkillSpec): boolean {
  const named = repositoryName(url);
  return (
    named?.owner.toLowerCase() === owner.toLowerCase() && named.repo.toLowerCase() === repo.toLowerCase()
  );
}
