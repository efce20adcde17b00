import type { FileChange } from "@outrider/agent/workspace";
import { FILE_BYTES } from "./kept.ts";
import type { Entry } from "./listing.ts";

/** A file that may have changed. */
export interface Candidate {
  path: string;
  /** Where what it held is found. */
  before: "nothing" | "kept" | "base" | "unknown";
  beforeSize: number;
  /** Absent where it is deleted. */
  after: Entry | undefined;
}

/** Both of its contents are there and can be compared. */
export function isSmall({ before, beforeSize, after }: Candidate): boolean {
  return before !== "unknown" && beforeSize <= FILE_BYTES && (after?.size ?? 0) <= FILE_BYTES;
}

export function withoutPatch({ path, before, after }: Candidate): FileChange {
  const kind = before === "nothing" ? "created" : after ? "modified" : "deleted";
  const from = kind === "created" ? "/dev/null" : `a/${path}`;
  const to = kind === "deleted" ? "/dev/null" : `b/${path}`;
  return {
    path,
    kind,
    patch: `--- ${from}\n+++ ${to}\n[${after ? `${after.size} bytes, ` : ""}not compared]\n`,
  };
}
