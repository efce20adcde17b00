import { messageOf } from "../failure.ts";
import type { CommitFiles, Entry, Found } from "./commit-files.ts";
import { parseSkill } from "./front-matter.ts";
import { pluginFolders } from "./plugins.ts";

/** A SKILL.md with much more than a megabyte of prose would be no prompt. */
export const SKILL_BYTES = 256 * 1024;
const CANDIDATES = 500;
/** Places that everybody knows come first; then those of one tool or another. */
const order = [".agents/skills", ".claude/skills", "skills"];

/** A SKILL.md in one of the places where skills are looked for. */
export interface Candidate {
  path: string;
  /** The folder's name; the repository's for one at the root. */
  directory: string;
  /** 0 at the root, 1 in a folder of skills, 2 in a catalogue in one. */
  level: number;
  /** Two with the same id have the same text. */
  id: string;
  name: string;
  description: string;
  /** Why it cannot be used. */
  problem?: string;
}

export interface Discovered {
  candidates: Candidate[];
  /** The folders that were looked into. */
  places: string[];
}

/** All skills of a commit that can be named without their path. */
export async function discoverSkills(files: CommitFiles, repo: string): Promise<Discovered> {
  const places = await placesOf(files);
  const found = [{ path: "SKILL.md", level: 0 }];
  const children = await foldersIn(files, places);
  const direct = await withSkill(files, children);
  found.push(...direct.there.map((path) => ({ path, level: 1 })));
  const deeper = await withSkill(files, await foldersIn(files, direct.others));
  found.push(...deeper.there.map((path) => ({ path, level: 2 })));
  const kept = found.slice(0, CANDIDATES);
  const read = await files.look(
    kept.map(({ path }) => path),
    { maxBytes: SKILL_BYTES },
  );
  const candidates = kept.flatMap(
    ({ path, level }, index) => candidateOf(path, level, read[index], repo) ?? [],
  );
  return { candidates, places: ["SKILL.md", ...places] };
}

async function placesOf(files: CommitFiles): Promise<string[]> {
  const [root] = await files.look([""], { maxBytes: 0 });
  if (root?.type !== "folder") return [];
  const names = root.entries.filter(isFolder).map(({ name }) => name);
  const hidden = names.filter((name) => name.startsWith(".")).slice(0, 50);
  const possible = [...hidden.map((name) => `${name}/skills`), ...names.filter((name) => name === "skills")];
  const looked = await files.look(possible, { maxBytes: 0 });
  const there = possible.filter((_, index) => looked[index]?.type === "folder");
  const rank = (place: string) => (order.includes(place) ? order.indexOf(place) : order.length);
  there.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  return [...new Set([...there, ...(await pluginFolders(files))])];
}

/** Or a link, which may lead to one. */
const isFolder = ({ kind }: Entry) => kind === "folder" || kind === "link";

async function foldersIn(files: CommitFiles, places: string[]): Promise<string[]> {
  const looked = await files.look(places, { maxBytes: 0 });
  const seen = new Set<string>();
  return looked.flatMap((found, index) => {
    // The same folder under another name is there by a link.
    if (found.type !== "folder" || seen.has(found.id)) return [];
    seen.add(found.id);
    const inside = found.entries.filter(isFolder).slice(0, CANDIDATES);
    return inside.map(({ name }) => `${places[index]}/${name}`);
  });
}

async function withSkill(
  files: CommitFiles,
  folders: string[],
): Promise<{ there: string[]; others: string[] }> {
  const some = folders.slice(0, CANDIDATES);
  const looked = await files.look(
    some.map((folder) => `${folder}/SKILL.md`),
    { maxBytes: 0 },
  );
  const isThere = (index: number) => looked[index]?.type !== "missing";
  return {
    there: some.filter((_, index) => isThere(index)).map((folder) => `${folder}/SKILL.md`),
    others: some.filter((_, index) => !isThere(index)),
  };
}

function candidateOf(
  path: string,
  level: number,
  found: Found | undefined,
  repo: string,
): Candidate | undefined {
  if (!found || found.type === "missing") return undefined;
  const directory = path.split("/").at(-2) ?? repo;
  const base = { path, directory, level, name: directory, description: "" };
  if (found.type !== "file") return { ...base, id: path, problem: problemOf(found) };
  try {
    const { name = directory, description } = parseSkill(found.data.toString());
    return { ...base, id: found.id, name, description };
  } catch (error) {
    return { ...base, id: found.id, problem: messageOf(error) };
  }
}

export function problemOf(found: Exclude<Found, { type: "file" }>): string {
  switch (found.type) {
    case "large":
      return `has ${found.size} bytes; at most ${SKILL_BYTES} are read`;
    case "outside":
      return "is reached by a link that leads out of the repository";
    case "folder":
      return "is a folder";
    case "missing":
      return "is not there";
  }
}
