import { Failure } from "@outrider/agent/failure";
import type { CommitReader, PathContent, TreeEntry } from "@outrider/agent/skills/commit-reader";

/** Limits for a skill's folder. The repository of a larger skill should be added to the environment. */
const MAX_FILES = 1_000;
/** A few trees that contain each other several times describe billions of folders. */
const MAX_FOLDERS = 1_000;
const MAX_BYTES = 20 * 2 ** 20;
const MAX_DEPTH = 10;

export interface SupportingFile {
  /** Relative to the skill's folder. */
  path: string;
  data: Buffer;
  isExecutable: boolean;
}

/** Returns the sorted paths in a skill's folder, up to the limits. */
export async function listSupportingFiles(files: CommitReader, folder: string): Promise<string[]> {
  const { found } = await walk(files, folder);
  return found.map(({ path }) => path).filter((path) => path !== "SKILL.md");
}

/**
 * Reads all files in a skill's folder. Rejects if a link points outside the repository or the folder exceeds the
 * limits.
 */
export async function readSupportingFiles(
  files: CommitReader,
  folder: string,
  skill: string,
): Promise<SupportingFile[]> {
  const { found, isComplete } = await walk(files, folder);
  if (!isComplete)
    throw tooLarge(
      skill,
      `more than ${MAX_FILES} files, ${MAX_FOLDERS} folders or ${MAX_DEPTH} levels of folders`,
    );
  const paths = found.map(({ path }) => join(folder, path));
  const sizes = await files.read(paths, { maxBytes: 0 });
  const outside = sizes.findIndex(({ type }) => type === "outside");
  if (outside >= 0) {
    const message = `The skill ${skill} contains a symbolic link that points outside its repository: ${paths[outside]}.`;
    throw new Failure("skill_invalid", message);
  }
  const bytes = sizes.reduce((sum, file) => sum + (file.type === "large" ? file.size : 0), 0);
  if (bytes > MAX_BYTES) throw tooLarge(skill, `${bytes} bytes of files, and the limit is ${MAX_BYTES}`);
  const read = await files.read(paths, { maxBytes: MAX_BYTES });
  return found.flatMap(({ path, isExecutable }, index) => {
    const file = read[index];
    return file?.type === "file" ? [{ path, isExecutable, data: file.data }] : [];
  });
}

function tooLarge(skill: string, what: string): Failure {
  return new Failure(
    "skill_invalid",
    `The skill ${skill} has ${what}. Add its repository to the run's environment instead.`,
  );
}

interface FolderContent {
  found: { path: string; isExecutable: boolean }[];
  isComplete: boolean;
}

async function walk(files: CommitReader, folder: string): Promise<FolderContent> {
  const found: FolderContent["found"] = [];
  const result = (isComplete: boolean) => ({ found: sortByPath(found).slice(0, MAX_FILES), isComplete });
  let folders = [""];
  let folderCount = 0;
  for (let depth = 0; folders.length > 0; depth++) {
    folderCount += folders.length;
    if (depth > MAX_DEPTH || folderCount > MAX_FOLDERS || found.length > MAX_FILES) return result(false);
    const contents = await files.read(
      folders.map((path) => join(folder, path)),
      { maxBytes: 0 },
    );
    const entries = listEntries(folders, contents);
    const links = entries.filter(({ kind }) => kind === "link");
    const linkTargets = await files.read(
      links.map(({ path }) => join(folder, path)),
      { maxBytes: 0 },
    );
    const linksToFolders = new Set(links.filter((_, index) => linkTargets[index]?.type === "folder"));
    folders = [];
    for (const entry of entries) {
      const { path, kind } = entry;
      if (kind === "folder" || linksToFolders.has(entry)) folders.push(path);
      else found.push({ path, isExecutable: kind === "program" });
    }
  }
  return result(found.length <= MAX_FILES);
}

/** Lists the entries of folders. Stops when there are certainly too many files or too many folders among them. */
function listEntries(
  folders: string[],
  contents: PathContent[],
): { path: string; kind: TreeEntry["kind"] }[] {
  const entries: { path: string; kind: TreeEntry["kind"] }[] = [];
  for (const [index, content] of contents.entries()) {
    if (content.type !== "folder") continue;
    for (const { name, kind } of content.entries) {
      entries.push({ path: join(folders[index] as string, name), kind });
      if (entries.length > MAX_FILES + MAX_FOLDERS) return entries;
    }
  }
  return entries;
}

function sortByPath(found: FolderContent["found"]): FolderContent["found"] {
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function join(folder: string, path: string): string {
  return folder === "" || path === "" ? folder + path : `${folder}/${path}`;
}
