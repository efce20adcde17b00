import { randomUUID } from "node:crypto";
import type { StoredRunFiles } from "@outrider/contract/worker/assigned-file-request";
import type { BuildContext } from "../builds/build.ts";
import type { FreeSpace } from "../free-space.ts";
import { ensureFiles } from "../run/prepare.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { RunFileError } from "./enter-script.ts";

/** Fetching the files of a large run takes long. The client asks again in the meantime. */
const OPEN_MS = 5 * 60_000;
const IDLE_MS = 2 * 60_000;
const MAX_OPEN = 3;
const CHECK_SPACE_MS = 500;

const second = 1_000_000_000n;

interface StoredFilesOptions {
  builds: Pick<BuildContext, "bases" | "provider" | "server">;
  freeSpace: FreeSpace;
  idleMs?: number;
}

interface OpenFiles {
  /** Identifies the content: the run's snapshot and build. */
  version: string;
  sandbox: Promise<Sandbox>;
  users: number;
  timer?: NodeJS.Timeout;
}

/**
 * Opens the stored files of runs, each in a sandbox without network in which nothing runs. A snapshot is a hostile archive,
 * so it is unpacked inside the sandbox, within the limits of the run's environment. The files stay open for a while, because
 * a user who looks at one folder usually looks at others.
 */
export class StoredFiles {
  readonly #options: StoredFilesOptions;
  readonly #open = new Map<string, OpenFiles>();
  readonly #closing = new Set<Promise<void>>();

  constructor(options: StoredFilesOptions) {
    this.#options = options;
  }

  /** Calls `read` with a sandbox that contains the run's files. */
  async use<T>(
    stored: StoredRunFiles,
    read: (sandbox: Sandbox) => Promise<T>,
    stopping: AbortSignal,
  ): Promise<T> {
    const opened = await this.#acquire(stored, stopping);
    try {
      const sandbox = await opened.sandbox;
      sandbox.extendDeadline(deadlineIn(OPEN_MS));
      return await read(sandbox);
    } finally {
      this.#release(stored.run_id, opened);
    }
  }

  async closeAll(): Promise<void> {
    for (const runId of [...this.#open.keys()]) this.#close(runId);
    await Promise.all(this.#closing);
  }

  async #acquire(stored: StoredRunFiles, stopping: AbortSignal): Promise<OpenFiles> {
    const { run_id, snapshot, build, image_build } = stored;
    const version = [snapshot?.sha256, (build ?? image_build)?.build_id].join(" ");
    const known = this.#open.get(run_id);
    if (known?.version === version) {
      known.users += 1;
      clearTimeout(known.timer);
      return known;
    }
    if (known) this.#close(run_id);
    this.#makeRoom();
    const opened: OpenFiles = { version, users: 1, sandbox: this.#openSandbox(stored, stopping) };
    this.#open.set(run_id, opened);
    opened.sandbox.catch(() => {
      if (this.#open.get(run_id) === opened) this.#open.delete(run_id);
    });
    return opened;
  }

  #release(runId: string, opened: OpenFiles): void {
    opened.users -= 1;
    if (opened.users > 0 || this.#open.get(runId) !== opened) return;
    opened.timer = setTimeout(() => this.#close(runId), this.#options.idleMs ?? IDLE_MS);
  }

  /** Closes the files of which nothing has been read for the longest time. */
  #makeRoom(): void {
    if (this.#open.size < MAX_OPEN) return;
    const idle = [...this.#open].find(([, { users }]) => users === 0);
    if (!idle)
      throw new RunFileError(
        "unavailable",
        "The worker is opening the files of other runs. Try again in a moment.",
      );
    this.#close(idle[0]);
  }

  #close(runId: string): void {
    const opened = this.#open.get(runId);
    if (!opened) return;
    this.#open.delete(runId);
    clearTimeout(opened.timer);
    const closing: Promise<void> = opened.sandbox
      .then((sandbox) => sandbox.close())
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  async #openSandbox(stored: StoredRunFiles, stopping: AbortSignal): Promise<Sandbox> {
    const { builds, freeSpace } = this.#options;
    const { run_id, environment, snapshot } = stored;
    const build = stored.build ?? stored.image_build;
    if (!(await freeSpace.isEnough())) throw diskIsFull();
    const failed = new AbortController();
    const signal = AbortSignal.any([stopping, failed.signal, AbortSignal.timeout(OPEN_MS)]);
    const files =
      build && environment ? await ensureFiles(builds, { build, environment, signal }) : undefined;
    const sandbox = await builds.provider.open({
      id: `files-${randomUUID()}`,
      deadline: deadlineIn(OPEN_MS),
      label: { run_id },
      ...(files ? { base: files.base } : {}),
      ...(files?.image ? { image: files.image } : {}),
      ...(environment?.resources ? { limits: environment.resources } : {}),
    });
    // A small snapshot can contain huge files.
    const watch = setInterval(async () => {
      if (!(await freeSpace.isEnough())) failed.abort(diskIsFull());
    }, CHECK_SPACE_MS);
    const abort = () => void sandbox.kill().catch(() => {});
    signal.addEventListener("abort", abort, { once: true });
    try {
      if (snapshot) await sandbox.restore(await builds.server.getBlob(snapshot.sha256, signal));
      signal.throwIfAborted();
      return sandbox;
    } catch (error) {
      await sandbox.close().catch(() => {});
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearInterval(watch);
      signal.removeEventListener("abort", abort);
    }
  }
}

function deadlineIn(ms: number): bigint {
  return process.hrtime.bigint() + (BigInt(ms) / 1_000n + 1n) * second;
}

function diskIsFull(): RunFileError {
  return new RunFileError("unavailable", "The worker has too little disk space to open the files.");
}
