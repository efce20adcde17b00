import type { Way } from "./networks.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";
import type { Steps } from "./steps/steps.ts";

export interface OpenSandbox {
  sandbox: Sandbox;
  way: Way;
  steps: Steps;
}

interface Kept extends OpenSandbox {
  /** Of the files at the server, which are those in it. */
  sha256: string;
  timer: NodeJS.Timeout;
}

/**
 * Sandboxes of runs that have ended or wait for an answer, kept for a while: a follow-up goes on in them at once, with
 * what lies outside of the workspace too. Nothing runs in them, and their files are stored, so each may go at any time.
 */
export class KeptSandboxes {
  private readonly most: number;
  private readonly byRun = new Map<string, Kept>();

  constructor({ most }: { most: number }) {
    this.most = most;
  }

  keep(runId: string, open: OpenSandbox & { sha256: string; minutes: number }): void {
    const { sandbox, way, steps, sha256, minutes } = open;
    const timer = setTimeout(() => void this.drop(runId), minutes * 60_000);
    this.byRun.set(runId, { sandbox, way, steps, sha256, timer });
    const [oldest] = this.byRun.keys();
    if (this.byRun.size > this.most && oldest) void this.drop(oldest);
  }

  /** The run's sandbox, if its files are still those of the run. */
  take(runId: string, sha256: string | undefined): OpenSandbox | undefined {
    const kept = this.byRun.get(runId);
    if (!kept) return undefined;
    if (kept.sha256 !== sha256) {
      void this.drop(runId);
      return undefined;
    }
    this.byRun.delete(runId);
    clearTimeout(kept.timer);
    return kept;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.byRun.keys()].map((runId) => this.drop(runId)));
  }

  private async drop(runId: string): Promise<void> {
    const kept = this.byRun.get(runId);
    if (!kept) return;
    this.byRun.delete(runId);
    clearTimeout(kept.timer);
    await kept.sandbox.close().catch(() => {});
    await kept.way.close();
  }
}
