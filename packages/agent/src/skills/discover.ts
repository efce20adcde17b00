import { setImmediate } from "node:timers/promises";
import type { CommitReader, PathContent, TreeEntry } from "./commit-reader.ts";
import { parseSkill } from "./front-matter.ts";
import { pluginFolders } from "./plugins.ts";

/** A larger SKILL.md is not usable as a prompt. */
export const MAX_SKILL_BYTES = 256 * 1024;
const MAX_CANDIDATES = 500;
/** Common folders come first, followed by those of individual tools. */
const folderOrder = [".agents/skills", ".claude/skills", "skills"];

/** A SKILL.md in one of the folders that are searched for skills. */
export interface Candidate {
  path: string;
  /** The folder's name, or the repository's name for a SKILL.md at the root. */
  directory: string;
  /** 0 at the root, 1 in a skills folder, 2 in a subfolder of one. */
  level: number;
  /** Files with the same id have the same content. */
  id: string;
  name: string;
  description: string;
  /** The reason why the skill cannot be used, if there is one. */
  problem?: string;
}

export interface DiscoveredSkills {
  candidates: Candidate[];
  /** The paths that were searched. */
  searched: string[];
}

/** Finds all skills in a commit that can be referred to by name instead of by path. */
export async function discoverSkills(files: CommitReader, repo: string): Promise<DiscoveredSkills> {
  const skillFolders = await findSkillFolders(files);
  const found = [{ path: "SKILL.md", level: 0 }];
  const children = await listFolders(files, skillFolders);
  const direct = await findSkillFiles(files, children);
  found.push(...direct.skillFiles.map((path) => ({ path, level: 1 })));
  const nested = await findSkillFiles(files, await listFolders(files, direct.withoutSkill));
  found.push(...nested.skillFiles.map((path) => ({ path, level: 2 })));
  const considered = found.slice(0, MAX_CANDIDATES);
  const read = await files.read(
    considered.map(({ path }) => path),
    { maxBytes: MAX_SKILL_BYTES },
  );
  const candidates: Candidate[] = [];
  for (const [index, { path, level }] of considered.entries()) {
    const candidate = toCandidate(path, level, read[index], repo);
    if (candidate) candidates.push(candidate);
    // A hostile repository has many files that take long to parse, and parsing blocks.
    await setImmediate();
  }
  return { candidates, searched: ["SKILL.md", ...skillFolders] };
}

async function findSkillFolders(files: CommitReader): Promise<string[]> {
  const [root] = await files.read([""], { maxBytes: 0 });
  if (root?.type !== "folder") return [];
  const names = root.entries.filter(isFolder).map(({ name }) => name);
  const hidden = names.filter((name) => name.startsWith(".")).slice(0, 50);
  const possible = [...hidden.map((name) => `${name}/skills`), ...names.filter((name) => name === "skills")];
  const contents = await files.read(possible, { maxBytes: 0 });
  const existing = possible.filter((_, index) => contents[index]?.type === "folder");
  const rank = (folder: string) =>
    folderOrder.includes(folder) ? folderOrder.indexOf(folder) : folderOrder.length;
  existing.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  return [...new Set([...existing, ...(await pluginFolders(files))])];
}

/** Returns whether an entry may be a folder. This includes links, which may point to one. */
const isFolder = ({ kind }: TreeEntry) => kind === "folder" || kind === "link";

async function listFolders(files: CommitReader, parents: string[]): Promise<string[]> {
  const contents = await files.read(parents, { maxBytes: 0 });
  const seen = new Set<string>();
  return contents.flatMap((found, index) => {
    // A link can make the same folder appear twice.
    if (found.type !== "folder" || seen.has(found.id)) return [];
    seen.add(found.id);
    const inside = found.entries.filter(isFolder).slice(0, MAX_CANDIDATES);
    return inside.map(({ name }) => `${parents[index]}/${name}`);
  });
}

async function findSkillFiles(
  files: CommitReader,
  folders: string[],
): Promise<{ skillFiles: string[]; withoutSkill: string[] }> {
  const considered = folders.slice(0, MAX_CANDIDATES);
  const contents = await files.read(
    considered.map((folder) => `${folder}/SKILL.md`),
    { maxBytes: 0 },
  );
  const hasSkill = (index: number) => contents[index]?.type !== "missing";
  return {
    skillFiles: considered.filter((_, index) => hasSkill(index)).map((folder) => `${folder}/SKILL.md`),
    withoutSkill: considered.filter((_, index) => !hasSkill(index)),
  };
}

function toCandidate(
  path: string,
  level: number,
  found: PathContent | undefined,
  repo: string,
): Candidate | undefined {
  if (!found || found.type === "missing") return undefined;
  const directory = path.split("/").at(-2) ?? repo;
  const base = { path, directory, level, name: directory, description: "" };
  if (found.type !== "file") return { ...base, id: path, problem: describeProblem(found) };
  const { name = directory, description } = parseSkill(found.data.toString());
  return { ...base, id: found.id, name, description };
}

export function describeProblem(found: Exclude<PathContent, { type: "file" }>): string {
  switch (found.type) {
    case "large":
      return `has ${found.size} bytes; the limit is ${MAX_SKILL_BYTES}`;
    case "outside":
      return "is a link that points outside the repository";
    case "folder":
      return "is a folder";
    case "missing":
      return "does not exist";
  }
}
