import { posix } from "node:path";
import type { FileChange } from "@outrider/agent/workspace";
import type { Notice } from "../../egress/egress-session.ts";
import type { Redactor } from "../../redaction/redact.ts";
import { sandboxPaths } from "../../sandboxes/paths.ts";
import type { Sandbox } from "../../sandboxes/sandbox.ts";
import { ChangeDetector } from "./change-detector.ts";

const CHECK_MS = 10_000;

interface CheckContext {
  redactor: Redactor;
  emitNotice(notice: Notice): void;
  /** Aborts when the result is no longer needed. */
  signal: AbortSignal;
}

/**
 * Reports which files each command changed, for the lifetime of a sandbox. It never makes a run fail: if a check fails,
 * it emits one notice and stops reporting.
 */
export class FileChanges {
  readonly #detector: ChangeDetector;
  #hasFailed = false;
  /** Whether something other than a command has changed files. Such changes are reported elsewhere. */
  isBehind = false;
  /** Files that tools have written since the last check. The tools' own events report these changes. */
  readonly #written = new Set<string>();
  #checking: Promise<unknown> = Promise.resolve();

  constructor(sandbox: Sandbox) {
    this.#detector = new ChangeDetector(sandbox);
  }

  /** `path` is absolute. */
  noteWrite(path: string) {
    this.#written.add(posix.relative(sandboxPaths.workspace, path));
    this.isBehind = true;
  }

  /** Skips changes that were not made by a command. Call before a command. */
  async catchUp(context: CheckContext): Promise<void> {
    if (this.isBehind) await this.#inOrder(() => this.#check(context, { report: false }));
  }

  /** Lists the changes since the last check. Call after a command or while it is running. */
  async list(context: CheckContext): Promise<FileChange[]> {
    return await this.#inOrder(() => this.#check(context, { report: true }));
  }

  /**
   * Runs one check at a time, because parallel commands may end together and each check continues from the last one.
   */
  #inOrder<T>(check: () => Promise<T>): Promise<T> {
    const result = this.#checking.then(check);
    this.#checking = result.catch(() => {});
    return result;
  }

  async #check(
    { redactor, emitNotice, signal }: CheckContext,
    { report }: { report: boolean },
  ): Promise<FileChange[]> {
    const written = new Set(this.#written);
    this.#written.clear();
    this.isBehind = false;
    if (this.#hasFailed || signal.aborted) return [];
    try {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)]);
      const { changes, more } = await this.#detector.check({ report, redactor, signal: timeout });
      if (more > 0) emitNotice({ code: "more_changes", message: moreMessage(more) });
      return changes.filter(({ path }) => !written.has(path));
    } catch (error) {
      this.#hasFailed = true;
      const message = `File changes are no longer reported per command, only in the run's diff: ${(error as Error).message}`;
      if (!signal.aborted) emitNotice({ code: "no_step_changes", message });
      return [];
    }
  }
}

function moreMessage(more: number): string {
  const files = more === 1 ? "1 more file was" : `${more} more files were`;
  return `${files} changed or touched by this command. The run's diff shows all changes.`;
}
