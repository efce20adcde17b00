import { posix } from "node:path";
import type { FileChange } from "@outrider/agent/workspace";
import type { Notice } from "../networks.ts";
import type { Redactor } from "../redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { Changes } from "./changes.ts";

const LOOK_MS = 10_000;

/** Who is told. */
interface Listener {
  redactor: Redactor;
  notice(notice: Notice): void;
  /** Nobody listens any more. */
  signal: AbortSignal;
}

/**
 * Tells what each command changed, for as long as the sandbox is there. It is never the reason why a run fails: when it
 * fails itself, it says so and stops.
 */
export class Steps {
  private readonly changes: Changes;
  private hasFailed = false;
  /** Something else than a command has changed files, which is told elsewhere. */
  isBehind = false;
  /** The files that tools have written since the last look; their own events tell it. */
  private readonly written = new Set<string>();
  private looking: Promise<unknown> = Promise.resolve();

  constructor(options: { sandbox: Sandbox; hasBase: boolean }) {
    this.changes = new Changes(options);
  }

  wrote(path: string) {
    this.written.add(posix.normalize(path.replace(/^\/workspace\//, "")));
    this.isBehind = true;
  }

  /** To be called before a command. */
  async catchUp(listener: Listener): Promise<void> {
    if (this.isBehind) await this.inTurn(() => this.look(listener, false));
  }

  /** To be called after it, or while it runs. */
  async tell(listener: Listener): Promise<FileChange[]> {
    return await this.inTurn(() => this.look(listener, true));
  }

  /** Commands that run beside each other end when they like, and each look begins where the last one ended. */
  private inTurn<T>(look: () => Promise<T>): Promise<T> {
    const looked = this.looking.then(look);
    this.looking = looked.catch(() => {});
    return looked;
  }

  private async look({ redactor, notice, signal }: Listener, tell: boolean): Promise<FileChange[]> {
    const written = new Set(this.written);
    this.written.clear();
    this.isBehind = false;
    if (this.hasFailed || signal.aborted) return [];
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
      const { changes, more } = await this.changes.look({ tell, redactor, signal: within });
      if (more > 0) notice({ code: "more_changes", message: moreMessage(more) });
      return changes.filter(({ path }) => !written.has(path));
    } catch (error) {
      this.hasFailed = true;
      const message = `From here on only the run's diff tells what changes: ${(error as Error).message}`;
      if (!signal.aborted) notice({ code: "no_step_changes", message });
      return [];
    }
  }
}

function moreMessage(more: number): string {
  const files = more === 1 ? "1 more file was" : `${more} more files were`;
  return `${files} changed or touched by this command; the run's diff tells of all.`;
}
