import { skillName } from "@outrider/contract/agent-config";

/** A parsed `skill_spec`. The server validates its syntax when the run is created. */
export interface SkillSpec {
  text: string;
  owner: string;
  repo: string;
  /** Exactly one of `path` and `name` is set. */
  path?: string;
  name?: string;
  /** The skill's name until its front matter has been read. */
  label: string;
}

export function parseSkillSpec(text: string): SkillSpec {
  const [repository = "", skill = ""] = text.split(":");
  const [owner = "", repo = ""] = repository.split("/");
  const target = skill.endsWith("SKILL.md") ? { path: skill } : { name: skill };
  return { text, owner, repo, ...target, label: skillName(text) };
}

/** Returns a repository's owner and name, which are the last two parts of its URL. */
export function repositoryName(url: string): { owner: string; repo: string } | undefined {
  const parts = url
    .replace(/^[a-z]+:\/\/[^/]*/, "")
    .split(/[/:]/)
    .filter((part) => part !== "");
  const [owner, repo] = [parts.at(-2), parts.at(-1)?.replace(/\.git$/, "")];
  return owner && repo ? { owner, repo } : undefined;
}

/** Returns whether the URL belongs to the skill's repository. Git hosts compare names case-insensitively. */
export function isRepository(url: string, { owner, repo }: SkillSpec): boolean {
  const named = repositoryName(url);
  return (
    named?.owner.toLowerCase() === owner.toLowerCase() && named.repo.toLowerCase() === repo.toLowerCase()
  );
}
