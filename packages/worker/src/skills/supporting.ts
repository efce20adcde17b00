import { Failure } from "@outrider/agent/failure";
import type { CommitFiles } from "@outrider/agent/skills/commit-files";

/** What is read of a skill's folder; a skill that needs more is better put into the environment. */
const FILES = 1_000;
const ALL_BYTES = 20 * 2 ** 20;
const DEPTH = 10;

export interface SupportingFile {
  /** Below the skill's folder. */
  path: string;
  data: Buffer;
  isProgram: boolean;
}

/** Paths below a skill's folder, sorted, as far as the bounds go. */
export async function listSupporting(files: CommitFiles, folder: string): Promise<string[]> {
  const { found } = await walk(files, folder);
  return found.map(({ path }) => path).filter((path) => path !== "SKILL.md");
}

/** All files of a skill's folder. Refuses links that lead out of the repository, and more than a skill should hold. */
export async function readSupporting(
  files: CommitFiles,
  folder: string,
  skill: string,
): Promise<SupportingFile[]> {
  const { found, isWhole } = await walk(files, folder);
  if (!isWhole) throw tooMuch(skill, `more than ${FILES} files`);
  const paths = found.map(({ path }) => join(folder, path));
  const sizes = await files.look(paths, { maxBytes: 0 });
  const outside = sizes.findIndex(({ type }) => type === "outside");
  if (outside >= 0) {
    const message = `The skill ${skill} has a link that leads out of its repository: ${paths[outside]}.`;
    throw new Failure("skill_not_found", message);
  }
  const bytes = sizes.reduce((sum, one) => sum + (one.type === "large" ? one.size : 0), 0);
  if (bytes > ALL_BYTES) throw tooMuch(skill, `${bytes} bytes of files`);
  const read = await files.look(paths, { maxBytes: ALL_BYTES });
  return found.flatMap(({ path, isProgram }, index) => {
    const one = read[index];
    return one?.type === "file" ? [{ path, isProgram, data: one.data }] : [];
  });
}

function tooMuch(skill: string, what: string): Failure {
  return new Failure(
    "skill_not_found",
    `The skill ${skill} has ${what}; at most ${FILES} files and ${ALL_BYTES} bytes are brought along. Add its repository to the run's environment instead.`,
  );
}

interface Walked {
  found: { path: string; isProgram: boolean }[];
  isWhole: boolean;
}

async function walk(files: CommitFiles, folder: string): Promise<Walked> {
  const found: Walked["found"] = [];
  let folders = [""];
  for (let depth = 0; folders.length > 0; depth++) {
    if (depth > DEPTH || found.length > FILES) return { found: inOrder(found), isWhole: false };
    const looked = await files.look(
      folders.map((path) => join(folder, path)),
      { maxBytes: 0 },
    );
    const entries = looked.flatMap((one, index) =>
      one.type === "folder"
        ? one.entries.map(({ name, kind }) => ({ path: join(folders[index] as string, name), kind }))
        : [],
    );
    const links = entries.filter(({ kind }) => kind === "link");
    const behind = await files.look(
      links.map(({ path }) => join(folder, path)),
      { maxBytes: 0 },
    );
    const isFolder = ({ path, kind }: (typeof entries)[number]) =>
      kind === "folder" || behind[links.findIndex((link) => link.path === path)]?.type === "folder";
    folders = entries.filter(isFolder).map(({ path }) => path);
    const rest = entries.filter((entry) => !isFolder(entry));
    found.push(...rest.map(({ path, kind }) => ({ path, isProgram: kind === "program" })));
  }
  return { found: inOrder(found).slice(0, FILES), isWhole: found.length <= FILES };
}

function inOrder(found: Walked["found"]): Walked["found"] {
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function join(folder: string, path: string): string {
  return folder === "" || path === "" ? folder + path : `${folder}/${path}`;
}
