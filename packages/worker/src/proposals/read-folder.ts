import { closeSync, constants, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import {
  isRelevant,
  isSearched,
  MAX_DEPTH,
  MAX_TEXT_BYTES,
  needsText,
  type RepositoryFiles,
  selectFiles,
} from "./repository-files.ts";

const MAX_FOLDERS_PER_LEVEL = 300;

/** Reads the relevant files of a folder on this machine. Does not follow links. */
export function readFolder(root: string): RepositoryFiles {
  const found: string[] = [];
  let folders = [""];
  for (let depth = 0; depth <= MAX_DEPTH && folders.length > 0; depth++) {
    const below: string[] = [];
    for (const folder of folders) {
      for (const entry of listEntries(join(root, folder), folder === "")) {
        const path = folder ? `${folder}/${entry.name}` : entry.name;
        if (entry.isDirectory() && isSearched(entry.name)) below.push(path);
        else if (entry.isFile() && isRelevant(path)) found.push(path);
      }
    }
    folders = below.slice(0, MAX_FOLDERS_PER_LEVEL);
  }
  const paths = selectFiles(found);
  const texts = paths.filter(needsText).flatMap((path): [string, string][] => {
    const text = readText(join(root, path));
    return text === undefined ? [] : [[path, text]];
  });
  return { paths, texts: new Map(texts) };
}

/** A folder below the root that cannot be read is skipped. */
function listEntries(folder: string, isRoot: boolean) {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (isRoot) throw error;
    return [];
  }
}

function readText(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = fstatSync(file);
    if (size > MAX_TEXT_BYTES) return undefined;
    const buffer = Buffer.alloc(size);
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, size, 0));
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
