import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** Creates a folder with this mode, regardless of the umask. The mode of an existing folder does not change. */
export function makeFolder(path: string, mode: number): void {
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, mode);
}

/** Writes a file atomically and durably: its content is on disk when the function returns. */
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
