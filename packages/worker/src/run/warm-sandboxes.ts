import type { EgressSession } from "../egress/egress-session.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { Bundle, GitPush, Sandbox } from "../sandboxes/sandbox.ts";
import type { FileChanges } from "../workspace/file-changes/file-changes.ts";
import type { GatewayForward } from "../workspace/gateway-forward.ts";

/** A sandbox that can be handed from one execution to the next. */
export interface DetachedSandbox {
  sandbox: Sandbox;
  egress: EgressSession;
  /** Set if the run's harness uses the gateway. */
  gateway: GatewayForward | undefined;
  /** Set if the run can publish changes. */
  gitForward: GatewayForward | undefined;
  /** What git in the sandbox is configured to push. */
  gitPushes: readonly GitPush[];
  /** The programs of the run's harness. */
  bundles: readonly Bundle[];
  fileChanges: FileChanges;
  /** The fingerprint of the files that are stored. Undefined if nothing has changed files yet. */
  storedFiles: Promise<string | undefined> | undefined;
  /** The fingerprint of files of which all changes are listed. Undefined if it is not known. */
  listedFiles: string | undefined;
}

interface WarmSandbox extends DetachedSandbox {
  /** Redacts the secrets of the run. */
  redactor: Redactor;
  /** The hash of the snapshot on the server that matches the files in the sandbox. Undefined if they match the build. */
  sha256: string | undefined;
  timer: NodeJS.Timeout;
}

/**
 * Keeps sandboxes open for a while when their runs have ended or are waiting for an answer. A follow-up continues in
 * the same sandbox without a restore, including files outside the workspace and the home. Nothing runs in a warm sandbox,
 * and its workspace and home are stored on the server, so it can be closed at any time.
 */
export class WarmSandboxes {
  readonly #max: number;
  readonly #byRun = new Map<string, WarmSandbox>();

  constructor({ max }: { max: number }) {
    this.#max = max;
  }

  /** Keeps a sandbox open for `minutes`. Closes the oldest sandbox if there are too many. */
  add(runId: string, { minutes, ...warm }: Omit<WarmSandbox, "timer"> & { minutes: number }): void {
    const timer = setTimeout(() => void this.#close(runId), minutes * 60_000);
    this.#byRun.set(runId, { ...warm, timer });
    const [oldest] = this.#byRun.keys();
    if (this.#byRun.size > this.#max && oldest) void this.#close(oldest);
  }

  /**
   * Removes and returns the run's sandbox. Closes it instead if its files differ from the run's last snapshot, or if the
   * harness now needs other programs or git another configuration.
   */
  take(
    runId: string,
    {
      sha256,
      bundles,
      gitPushes = [],
    }: { sha256: string | undefined; bundles: readonly Bundle[]; gitPushes?: readonly GitPush[] | undefined },
  ): DetachedSandbox | undefined {
    const warm = this.#byRun.get(runId);
    if (!warm) return undefined;
    const isSame = idsOf(warm.bundles) === idsOf(bundles) && isEqual(warm.gitPushes, gitPushes);
    if (warm.sha256 !== sha256 || !isSame) {
      void this.#close(runId);
      return undefined;
    }
    this.#byRun.delete(runId);
    clearTimeout(warm.timer);
    return warm;
  }

  /** Returns the run's sandbox without removing it. It can be closed, or continue to be used, at any time. */
  find(runId: string): Pick<WarmSandbox, "sandbox" | "redactor"> | undefined {
    return this.#byRun.get(runId);
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#byRun.keys()].map((runId) => this.#close(runId)));
  }

  async #close(runId: string): Promise<void> {
    const warm = this.#byRun.get(runId);
    if (!warm) return;
    this.#byRun.delete(runId);
    clearTimeout(warm.timer);
    await warm.sandbox.close().catch(() => {});
    await warm.egress.close();
  }
}

const idsOf = (bundles: readonly Bundle[]) => bundles.map(({ id }) => id).join();

const isEqual = (a: readonly GitPush[], b: readonly GitPush[]) => JSON.stringify(a) === JSON.stringify(b);
