import type { FileChange } from "@outrider/agent/workspace";
import type { Redactor } from "../../redaction/redact.ts";
import type { Sandbox } from "../../sandboxes/sandbox.ts";
import { type Candidate, describeChange, isComparable } from "./candidate.ts";
import { findIgnored, fromArgument, parentFolders, toArgument } from "./git-ignored.ts";
import { Inspection, inspectionPaths } from "./inspection.ts";
import { type Entry, isFile, Lister, type Listing } from "./listing.ts";
import { MAX_DIFF_BYTES, PatchList, parseDiff } from "./patches.ts";
import { PreviousContents } from "./previous-contents.ts";

const MAX_REPORTED_FILES = 100;
const MAX_DELETED = 20_000;

interface CheckOptions {
  /** If false, the changes are recorded but not reported. */
  report: boolean;
  redactor: Redactor;
  signal: AbortSignal;
}

export interface CheckResult {
  changes: FileChange[];
  /** The number of further files that may have changed. */
  more: number;
}

/**
 * Finds what has changed in a workspace since the last check.
 *
 * With a base, it lists only the overlay layer above the base, so a repository's size does not matter. It compares the
 * listing with the last one to find files with a new signature, files that no longer exist, and base files that were
 * deleted. Previous contents come from saved copies or from the base. Git compares them with the current files. Git's
 * own folders and ignored files are omitted.
 */
export class ChangeDetector {
  readonly #sandbox: Sandbox;
  readonly #lister: Lister;
  readonly #previous = new PreviousContents();
  #last: Listing = new Map();
  /** Deleted base files that have already been reported. */
  readonly #deleted = new Set<string>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
    this.#lister = new Lister(inspectionPaths(sandbox.scriptPaths).changed);
  }

  get #hasBase(): boolean {
    return this.#sandbox.scriptPaths.layers !== undefined;
  }

  async check({ report, redactor, signal }: CheckOptions): Promise<CheckResult> {
    const inspection = await Inspection.start(this.#sandbox, signal);
    try {
      const listing = await this.#lister.list(inspection, this.#last);
      const candidates = await this.#compare(inspection, listing);
      const reported = report ? candidates.slice(0, MAX_REPORTED_FILES) : [];
      const compared = reported.filter(isComparable);
      await this.#stage(inspection, compared);
      const now = candidates.map(({ path, after }) => ({ path, size: after?.size }));
      await this.#previous.replace(inspection, now);
      this.#last = listing;
      const patches = new PatchList(redactor);
      const omitted =
        compared.length > 0 ? addAll(patches, await inspection.diff(MAX_DIFF_BYTES), compared.length) : 0;
      const notCompared = reported.filter((candidate) => !isComparable(candidate));
      const notAdded = notCompared.filter((candidate) => !patches.add(describeChange(candidate)));
      const more = report ? candidates.length - reported.length + omitted + notAdded.length : 0;
      return { changes: patches.changes.sort((a, b) => (a.path < b.path ? -1 : 1)), more };
    } finally {
      await inspection.end();
    }
  }

  async #compare(inspection: Inspection, listing: Listing): Promise<Candidate[]> {
    const candidates = new Map<string, Candidate>();
    const add = (path: string, before: Candidate["before"], after?: Entry) =>
      candidates.set(path, { path, before, beforeSize: this.#previous.sizeOf(path) ?? 0, after });
    for (const [path, entry] of listing) {
      if (!isFile(entry) || this.#last.get(path)?.signature === entry.signature) continue;
      add(path, this.#locateBefore(path), entry);
      this.#deleted.delete(path);
    }
    for (const [path, entry] of this.#last) {
      if (isFile(entry) && !isFile(listing.get(path))) add(path, this.#locateBefore(path));
    }
    for (const path of this.#hasBase ? await this.#findDeleted(inspection, listing) : []) {
      if (!candidates.has(path) && !this.#deleted.has(path)) add(path, "base");
      this.#deleted.add(path);
    }
    await this.#removeIgnored(inspection, candidates, listing);
    await this.#readBaseSizes(inspection, candidates);
    return [...candidates.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #locateBefore(path: string): Candidate["before"] {
    if (this.#previous.sizeOf(path) !== undefined) return "saved";
    if (isFile(this.#last.get(path))) return "unknown";
    return this.#hasBase && !this.#deleted.has(path) ? "base" : "nothing";
  }

  /** Finds deleted base files. Deleting an entry changes its folder, so only changed folders are checked. */
  async #findDeleted(inspection: Inspection, listing: Listing): Promise<string[]> {
    const folders = [...listing].filter(
      ([path, { kind, signature }]) => kind === "d" && this.#last.get(path)?.signature !== signature,
    );
    if (folders.length === 0) return [];
    const names = folders.map(([path]) => toArgument(path));
    return (await inspection.run("missing", names, String(MAX_DELETED))).map(fromArgument);
  }

  async #removeIgnored(inspection: Inspection, candidates: Map<string, Candidate>, listing: Listing) {
    if (candidates.size === 0) return;
    const paths = [...candidates.keys()];
    // Git rejects the whole request if one path is behind a symbolic link.
    const isLink = (folder: string) => listing.get(folder)?.kind === "l";
    const ignored = await findIgnored(
      inspection,
      paths.filter((path) => !parentFolders(path).some(isLink)),
    );
    this.#lister.skip(ignored, listing);
    for (const path of paths) {
      if ([path, ...parentFolders(path)].some((parent) => ignored.has(parent))) candidates.delete(path);
    }
    if (paths.some((path) => /(^|\/)\.gitignore$/.test(path))) this.#lister.resetSkipped();
  }

  async #readBaseSizes(inspection: Inspection, candidates: Map<string, Candidate>) {
    const fromBase = [...candidates.values()].filter(({ before }) => before === "base");
    if (fromBase.length === 0) return;
    const names = fromBase.map(({ path }) => toArgument(path));
    const lines = await inspection.run("sizes", names, inspection.paths.base);
    const sizes = new Map(
      lines.map((line) => [fromArgument(line.slice(line.indexOf(" ") + 1)), parseInt(line, 10)]),
    );
    for (const candidate of fromBase) {
      const size = sizes.get(candidate.path);
      if (size === undefined) candidate.before = "nothing";
      else candidate.beforeSize = size;
    }
  }

  /** Copies the previous and the current contents side by side for git to compare. */
  async #stage(inspection: Inspection, compared: Candidate[]): Promise<void> {
    const { paths } = inspection;
    const copies = [
      [compared.filter(({ before }) => before === "saved"), paths.saved, paths.before],
      [compared.filter(({ before }) => before === "base"), paths.base, paths.before],
      [compared.filter(({ after }) => after), paths.workspace, paths.after],
    ] as const;
    for (const [files, from, to] of copies) {
      if (files.length === 0) continue;
      const names = files.map(({ path }) => toArgument(path));
      const errors = await inspection.run("copy", names, from, to);
      if (errors.length > 0) throw new Error("the changed files could not be copied.");
    }
  }
}

/** Adds all changes and returns how many files were omitted. A file without a diff was only touched. */
function addAll(patches: PatchList, output: string, files: number): number {
  const changes = [...parseDiff(output)];
  const added = changes.filter((change) => patches.add(change)).length;
  return (output.length > MAX_DIFF_BYTES ? files : changes.length) - added;
}
