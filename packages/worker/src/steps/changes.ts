import type { FileChange } from "@outrider/agent/workspace";
import type { Redactor } from "../redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { type Candidate, isSmall, withoutPatch } from "./candidate.ts";
import { findIgnored, foldersAbove, inside, outside } from "./ignored.ts";
import { Inspection, places } from "./inspection.ts";
import { KeptFiles } from "./kept.ts";
import { type Entry, isFile, Lister, type Listing } from "./listing.ts";
import { changesIn, GIT_SAYS, Patches } from "./patches.ts";

const TOLD_FILES = 100;
const MOST_DELETED = 20_000;

interface LookOptions {
  tell: boolean;
  redactor: Redactor;
  signal: AbortSignal;
}

export interface Told {
  changes: FileChange[];
  /** How many files may have changed besides. */
  more: number;
}

/**
 * What has changed in a workspace from one look to the next. Over a base only the layer above it is looked at, so that
 * the size of a repository does not matter. Git's own folders and what git ignores are left out.
 */
export class Changes {
  private readonly options: { sandbox: Sandbox; hasBase: boolean };
  private readonly lister: Lister;
  private readonly kept = new KeptFiles();
  private last: Listing = new Map();
  /** Files of the base that are known to be deleted. */
  private readonly deleted = new Set<string>();

  constructor(options: Changes["options"]) {
    this.options = options;
    this.lister = new Lister(options.hasBase ? places.upper : places.workspace);
  }

  /** Without `tell` the changes are only noted. */
  async look({ tell, redactor, signal }: LookOptions): Promise<Told> {
    const inspection = await Inspection.begin(this.options.sandbox, signal);
    try {
      const listing = await this.lister.list(inspection, this.last);
      const candidates = await this.compare(inspection, listing);
      const told = tell ? candidates.slice(0, TOLD_FILES) : [];
      const shown = told.filter(isSmall);
      await this.stage(inspection, shown);
      const now = candidates.map(({ path, after }) => ({ path, size: after?.size }));
      await this.kept.replace(inspection, now);
      this.last = listing;
      const patches = new Patches(redactor);
      const unsaid = shown.length > 0 ? addAll(patches, await inspection.diff(GIT_SAYS), shown.length) : 0;
      const untold = told.filter((one) => !isSmall(one)).filter((one) => !patches.add(withoutPatch(one)));
      const more = tell ? candidates.length - told.length + unsaid + untold.length : 0;
      return { changes: patches.changes.sort((a, b) => (a.path < b.path ? -1 : 1)), more };
    } finally {
      await inspection.end();
    }
  }

  private async compare(inspection: Inspection, listing: Listing): Promise<Candidate[]> {
    const { hasBase } = this.options;
    const candidates = new Map<string, Candidate>();
    const add = (path: string, before: Candidate["before"], after?: Entry) =>
      candidates.set(path, { path, before, beforeSize: this.kept.sizeOf(path) ?? 0, after });
    for (const [path, entry] of listing) {
      if (!isFile(entry) || this.last.get(path)?.signature === entry.signature) continue;
      add(path, this.whereBefore(path), entry);
      this.deleted.delete(path);
    }
    for (const [path, entry] of this.last) {
      if (isFile(entry) && !isFile(listing.get(path))) add(path, this.whereBefore(path));
    }
    for (const path of hasBase ? await this.missing(inspection, listing) : []) {
      if (!candidates.has(path) && !this.deleted.has(path)) add(path, "base");
      this.deleted.add(path);
    }
    await this.leaveOutIgnored(inspection, candidates, listing);
    await this.measure(inspection, candidates);
    return [...candidates.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  private whereBefore(path: string): Candidate["before"] {
    if (this.kept.sizeOf(path) !== undefined) return "kept";
    if (isFile(this.last.get(path))) return "unknown";
    return this.options.hasBase && !this.deleted.has(path) ? "base" : "nothing";
  }

  /** A folder in which something was deleted has changed itself. */
  private async missing(inspection: Inspection, listing: Listing): Promise<string[]> {
    const folders = [...listing].filter(
      ([path, { kind, signature }]) => kind === "d" && this.last.get(path)?.signature !== signature,
    );
    if (folders.length === 0) return [];
    const names = folders.map(([path]) => inside(path));
    return (await inspection.ask("missing", names, String(MOST_DELETED))).map(outside);
  }

  private async leaveOutIgnored(
    inspection: Inspection,
    candidates: Map<string, Candidate>,
    listing: Listing,
  ) {
    if (candidates.size === 0) return;
    const paths = [...candidates.keys()];
    // Git refuses to look at all of them where one stands beyond a link.
    const isLink = (folder: string) => listing.get(folder)?.kind === "l";
    const ignored = await findIgnored(
      inspection,
      paths.filter((path) => !foldersAbove(path).some(isLink)),
    );
    this.lister.skip(ignored, listing);
    for (const path of paths) {
      if ([path, ...foldersAbove(path)].some((one) => ignored.has(one))) candidates.delete(path);
    }
    if (paths.some((path) => /(^|\/)\.gitignore$/.test(path))) this.lister.skipNothing();
  }

  private async measure(inspection: Inspection, candidates: Map<string, Candidate>) {
    const fromBase = [...candidates.values()].filter(({ before }) => before === "base");
    if (fromBase.length === 0) return;
    const names = fromBase.map(({ path }) => inside(path));
    const lines = await inspection.ask("sizes", names, places.base);
    const sizes = new Map(
      lines.map((line) => [outside(line.slice(line.indexOf(" ") + 1)), parseInt(line, 10)]),
    );
    for (const candidate of fromBase) {
      const size = sizes.get(candidate.path);
      if (size === undefined) candidate.before = "nothing";
      else candidate.beforeSize = size;
    }
  }

  /** Puts what files held before and hold now side by side, for git to compare. */
  private async stage(inspection: Inspection, shown: Candidate[]): Promise<void> {
    const copies = [
      [shown.filter(({ before }) => before === "kept"), places.kept, places.before],
      [shown.filter(({ before }) => before === "base"), places.base, places.before],
      [shown.filter(({ after }) => after), places.workspace, places.after],
    ] as const;
    for (const [files, from, to] of copies) {
      if (files.length === 0) continue;
      const names = files.map(({ path }) => inside(path));
      const complaints = await inspection.ask("copy", names, from, to);
      if (complaints.length > 0) throw new Error("the changed files cannot be copied.");
    }
  }
}

/** Answers how many of the files were not told of. Where git says nothing, the file was only touched. */
function addAll(patches: Patches, printed: string, files: number): number {
  const changes = [...changesIn(printed)];
  const added = changes.filter((change) => patches.add(change)).length;
  return (printed.length > GIT_SAYS ? files : changes.length) - added;
}
