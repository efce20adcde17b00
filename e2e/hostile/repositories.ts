import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

interface HostileRepository {
  files(): Record<string, string>;
  /** A skill that the run uses. */
  skill?: string;
  /** Matches the end of the run: its error code and message, or SUCCEEDED and the names of the repositories. */
  expected: RegExp;
}

const SKILLS = 500;
/** Nearly as many keys as the front matter of a skill can have, which the YAML parser reads up to 200 lines of. */
const keys = Array.from({ length: 190 }, (_, index) => `k${index.toString(36)}:`).join("\n");

const skillsWithKeys = () =>
  filesOf(SKILLS, (index) => [
    `skills/s${index}/SKILL.md`,
    `---\nname: skill-${index}\n${keys}\n---\nDo it.\n`,
  ]);
const skillsWithDeepFrontMatter = () =>
  filesOf(SKILLS, (index) => [
    `skills/s${index}/SKILL.md`,
    `---\nname: ${"[".repeat(490)}${index}\n---\nDo it.\n`,
  ]);

/**
 * Repositories with files that attack the code that reads them, by name. The first one is harmless, which proves that
 * such repositories work.
 */
export const repositories: Record<string, HostileRepository> = {
  "no-attack": {
    files: () => ({ "skills/safe/SKILL.md": "---\nname: safe\n---\nDo it.\n" }),
    skill: "safe",
    expected: /^SUCCEEDED: no-attack\n/,
  },
  "skills-with-many-keys": { files: skillsWithKeys, expected: /^SUCCEEDED: skills-with-many-keys\n/ },
  "use-of-a-skill-with-many-keys": {
    files: skillsWithKeys,
    skill: "skill-499",
    expected: /^SUCCEEDED: use-of-a-skill-with-many-keys\n/,
  },
  "skills-with-deep-front-matter": {
    files: skillsWithDeepFrontMatter,
    expected: /^SUCCEEDED: skills-with-deep-front-matter\n/,
  },
  "use-of-a-skill-with-deep-front-matter": {
    files: skillsWithDeepFrontMatter,
    skill: "skills/s1/SKILL.md",
    expected: /^SUCCEEDED: use-of-a-skill-with-deep-front-matter\n/,
  },
  "use-of-a-skill-with-many-folders": {
    files: () => ({
      "skills/wide/SKILL.md": "Do it.",
      ...filesOf(5_000, (index) => [`skills/wide/${index}/a/b/c/d`, "x"]),
    }),
    skill: "wide",
    expected: /^SUCCEEDED: use-of-a-skill-with-many-folders\n/,
  },
  "plugins-without-end": {
    files: () => ({
      ".claude-plugin/marketplace.json": `{"plugins":[${'{"skills":[1,1,1,1]},'.repeat(10_000)}{}]}`,
      ".claude-plugin/plugin.json": `${"[".repeat(100_000)}`,
    }),
    expected: /^SUCCEEDED: plugins-without-end\n/,
  },
  "instructions-of-10-mb": {
    files: () => ({
      "AGENTS.md": `${"\0".repeat(1_000)}${"x".repeat(10_000_000)}`,
      ...filesOf(1_000, (index) => [`folder-${index}/AGENTS.md`, "x"]),
    }),
    expected: /^SUCCEEDED: instructions-of-10-mb\n/,
  },
};

function filesOf(count: number, file: (index: number) => [string, string]): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => file(index)));
}

/** Creates the repository and returns its URL. */
export function createHostileRepository(folder: string, name: string): string {
  const path = join(folder, "hostile", name);
  for (const [file, text] of Object.entries(repositories[name]?.files() ?? {})) {
    mkdirSync(dirname(join(path, file)), { recursive: true });
    writeFileSync(join(path, file), text);
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", path, "-c", "user.name=Test", "-c", "user.email=test@example.com", ...args]);
  git("init", "--quiet", "--initial-branch", "main");
  git("add", ".");
  git("commit", "--quiet", "--message", "Attack");
  return `file://${path}`;
}
