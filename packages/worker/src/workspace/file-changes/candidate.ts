import type { FileChange } from "@outrider/agent/workspace";
import type { Entry } from "./listing.ts";
import { MAX_FILE_BYTES } from "./previous-contents.ts";

/** A file that may have changed. */
export interface Candidate {
  path: string;
  /** The location of its previous content. */
  before: "nothing" | "saved" | "base" | "unknown";
  beforeSize: number;
  /** Undefined if the file was deleted. */
  after: Entry | undefined;
}

/** Returns whether both contents are available and small enough to compare. */
export function isComparable({ before, beforeSize, after }: Candidate): boolean {
  return before !== "unknown" && beforeSize <= MAX_FILE_BYTES && (after?.size ?? 0) <= MAX_FILE_BYTES;
}

/** Describes a change without comparing the contents. */
export function describeChange({ path, before, after }: Candidate): FileChange {
  const kind = before === "nothing" ? "created" : after ? "modified" : "deleted";
  const from = kind === "created" ? "/dev/null" : `a/${path}`;
  const to = kind === "deleted" ? "/dev/null" : `b/${path}`;
  return {
    path,
    kind,
    patch: `--- ${from}\n+++ ${to}\n[${after ? `${after.size} bytes, ` : ""}not compared]\n`,
  };
}
