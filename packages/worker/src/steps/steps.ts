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

  constructor(options: { sandbox: Sandbox; hasBase: boolean }) {
    this.changes = new Changes(options);
  }

  /** To be called before a command. */
  async catchUp(listener: Listener): Promise<void> {
    if (this.isBehind) await this.look(listener, false);
    this.isBehind = false;
  }

  /** To be called after it. */
  async tell(listener: Listener): Promise<FileChange[]> {
    return await this.look(listener, true);
  }

  private async look({ redactor, notice, signal }: Listener, tell: boolean): Promise<FileChange[]> {
    if (this.hasFailed || signal.aborted) return [];
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
      const { changes, more } = await this.changes.look({ tell, redactor, signal: within });
      if (more > 0) notice({ code: "more_changes", message: moreMessage(more) });
      return changes;
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
