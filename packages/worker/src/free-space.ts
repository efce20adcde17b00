import { statfs } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";
import type { Log } from "./log.ts";

const RETRY_MS = 2_000;
/** Within this time, other runs usually end, and removing their sandboxes frees space. */
const MAX_WAIT_MS = 60_000;

interface FreeSpaceOptions {
  folder: string;
  minFreeBytes: number;
  log: Pick<Log, "info" | "warn">;
  maxWaitMs?: number;
}

/** Watches the free space on the worker's disk, which stores sandboxes and files to upload. */
export class FreeSpace {
  readonly #options: FreeSpaceOptions;
  /** The result of the last check. */
  isLow = false;

  constructor(options: FreeSpaceOptions) {
    this.#options = options;
  }

  /** Returns whether there is space for another run. Logs only changes. */
  async isEnough(): Promise<boolean> {
    const { folder, minFreeBytes, log } = this.#options;
    const free = await freeBytes(folder);
    const isLow = free !== undefined && free < minFreeBytes;
    if (isLow !== this.isLow) {
      this.isLow = isLow;
      if (isLow)
        log.warn(
          { folder, free_bytes: free, min_free_bytes: minFreeBytes },
          "disk space low, not accepting new runs",
        );
      else log.info({ folder, free_bytes: free }, "disk space recovered, accepting new runs");
    }
    return !isLow;
  }

  /** Runs work that writes to the disk. If the disk is full, retries until `maxWaitMs` has passed. */
  async retryWhileFull<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { maxWaitMs = MAX_WAIT_MS, folder, log } = this.#options;
    for (const deadline = performance.now() + maxWaitMs; ; ) {
      try {
        return await work();
      } catch (error) {
        if (!isOutOfSpace(error)) throw error;
        log.warn({ folder }, "disk full, failed to store run files");
        if (performance.now() > deadline) throw new Failure("resource_unavailable", DISK_FULL_MESSAGE);
        await pause(RETRY_MS, undefined, { signal });
      }
    }
  }
}

const DISK_FULL_MESSAGE =
  "The worker's disk is full: the files of this turn could not be stored. The worker's operator must free disk space.";

/** Returns the free bytes on the folder's disk, or undefined if they cannot be determined. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk && disk.bavail * disk.bsize;
}

export function isOutOfSpace(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}
