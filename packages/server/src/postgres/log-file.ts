import { appendFileSync, closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from "node:fs";

const maxBytes = 10 * 1024 * 1024;
const bytesAfterTrim = 1024 * 1024;

export function tailOf(path: string, lines = 20): string {
  return readEnd(path, 16 * 1024)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .slice(-lines)
    .join("\n");
}

/** Shortens the log in place instead of replacing it, because PostgreSQL keeps the file open. */
export function trimLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  const end = readEnd(path, bytesAfterTrim);
  truncateSync(path);
  try {
    appendFileSync(path, end);
  } catch {
    // If the disk is full, the newest lines are lost, which is acceptable.
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
