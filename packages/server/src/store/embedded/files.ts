import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** The mode holds whatever the umask is; a folder that exists already keeps its own. */
export function makeFolder(path: string, mode: number): void {
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, mode);
}

/** Whole or not at all, and on disk when it returns. */
export function writeDurably(path: string, content: string): void {
  const draft = `${path}.tmp`;
  const file = openSync(draft, "w", 0o600);
  try {
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameDurably(draft, path);
}

export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
