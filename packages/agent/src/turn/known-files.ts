import type { LogEvent } from "../event.ts";
import { expandHome } from "../tools/expand-home.ts";
import { displayPath, normalizePath } from "../tools/list-files-script.ts";
import type { Workspace } from "../workspace.ts";

/** Tools whose successful call shows the agent a file. */
const READ_FILE = "read_file";
/** Tools that report each file that they write with `file.changed`. The agent knows what it wrote. */
const editTools = new Set(["write_file", "edit_file", "apply_patch"]);

/**
 * The files whose content the agent knows, because it has read or written them in this run and nothing else has changed
 * them since. It reads the run's log, so a turn that restarts after a crash continues with the same files.
 */
export class KnownFiles {
  readonly #workspace: Pick<Workspace, "home">;
  readonly #known = new Set<string>();
  readonly #stale = new Set<string>();
  /** The paths of reads that have not returned yet, by call. */
  readonly #reads = new Map<string, string>();
  readonly #openEdits = new Set<string>();

  constructor(history: readonly LogEvent[], workspace: Pick<Workspace, "home">) {
    this.#workspace = workspace;
    for (const event of history) this.add(event);
  }

  add(event: LogEvent) {
    switch (event.type) {
      case "tool.called": {
        const { call_id, tool, input } = event.data;
        if (editTools.has(tool)) this.#openEdits.add(call_id);
        const path = (input as { path?: unknown } | null)?.path;
        if (tool === READ_FILE && typeof path === "string") this.#reads.set(call_id, path);
        return;
      }
      case "tool.returned": {
        const { call_id, is_error } = event.data;
        const path = this.#reads.get(call_id);
        if (path !== undefined && !is_error) this.#learn(path);
        this.#reads.delete(call_id);
        this.#openEdits.delete(call_id);
        return;
      }
      case "file.changed":
        if (this.#openEdits.size > 0) this.#learn(event.data.path);
        else this.#forget(event.data.path);
        return;
      case "run.recovering":
        // The files were restored from an earlier snapshot.
        this.#reads.clear();
        this.#openEdits.clear();
        for (const path of this.#known) this.#forget(path);
    }
  }

  /** Returns why the agent must read the file before it replaces it, or undefined if it knows the content. */
  staleness(path: string): string | undefined {
    const key = this.#keyOf(path);
    if ([...this.#known].some((known) => isSamePath(known, key))) return undefined;
    const isStale = [...this.#stale].some((stale) => isSamePath(stale, key));
    return isStale
      ? `${path} may have changed since you read it: read it with read_file before you replace it.`
      : `${path} exists and you have not read it: read it with read_file before you replace it.`;
  }

  #learn(path: string) {
    const key = this.#keyOf(path);
    this.#known.add(key);
    this.#stale.delete(key);
  }

  #forget(path: string) {
    const key = this.#keyOf(path);
    for (const known of this.#known) {
      if (!isSamePath(known, key)) continue;
      this.#known.delete(known);
      this.#stale.add(known);
    }
  }

  #keyOf(path: string): string {
    return displayPath(normalizePath(expandHome(path, this.#workspace)));
  }
}

/** A path may be absolute or relative to a folder of the workspace, so one can be the end of the other. */
function isSamePath(a: string, b: string): boolean {
  return a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
}
