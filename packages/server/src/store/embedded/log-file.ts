import { appendFileSync, closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from "node:fs";

const limit = 10 * 1024 * 1024;
const kept = 1024 * 1024;

export function tailOf(path: string, lines = 20): string {
  return readEnd(path, 16 * 1024)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .slice(-lines)
    .join("\n");
}

/** PostgreSQL appends through an open file, so the file is shortened in place; it works while in use. */
export function trimLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= limit) return;
  const end = readEnd(path, kept);
  truncateSync(path);
  try {
    appendFileSync(path, end);
  } catch {
    // A disk that is full keeps the newest lines from us, no more.
  }
}

function readEnd(path: string, length: number): Buffer {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const { size } = fstatSync(file);
    const end = Buffer.alloc(Math.min(size, length));
    return end.subarray(0, readSync(file, end, 0, end.length, size - end.length));
  } finally {
    closeSync(file);
  }
}
