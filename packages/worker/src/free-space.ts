import { statfs } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { Failure } from "@outrider/agent/failure";

const AGAIN_MS = 2_000;
/** Other runs end meanwhile, and their sandboxes go. */
const PATIENCE_MS = 60_000;

interface FreeSpaceOptions {
  folder: string;
  minFreeBytes: number;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  patienceMs?: number;
}

/** What is free on the disk of the worker, where sandboxes lie and files wait to be sent. */
export class FreeSpace {
  private readonly options: FreeSpaceOptions;
  /** As it was when somebody last looked. */
  isShort = false;

  constructor(options: FreeSpaceOptions) {
    this.options = options;
  }

  /** Whether there is room for one more run. Whoever looks after the worker is told of each change, once. */
  async isEnough(): Promise<boolean> {
    const { folder, minFreeBytes, log } = this.options;
    const free = await freeBytes(folder);
    const isShort = free !== undefined && free < minFreeBytes;
    if (isShort !== this.isShort) {
      this.isShort = isShort;
      if (isShort)
        log.warn(
          { folder, free_bytes: free, min_free_bytes: minFreeBytes },
          "the disk is short of space: no new runs are taken",
        );
      else log.info({ folder, free_bytes: free }, "there is room again: new runs are taken");
    }
    return !isShort;
  }

  /** Work that writes to the disk, tried again for a while where that is full. */
  async patiently<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { patienceMs = PATIENCE_MS, folder, log } = this.options;
    for (const deadline = performance.now() + patienceMs; ; ) {
      try {
        return await work();
      } catch (error) {
        if (!isOutOfSpace(error)) throw error;
        log.warn({ folder }, "the disk is full: the files of a run cannot be stored");
        if (performance.now() > deadline) throw new Failure("resource_unavailable", diskIsFull);
        await pause(AGAIN_MS, undefined, { signal });
      }
    }
  }
}

const diskIsFull =
  "The worker's disk is full: the files of this turn could not be stored. Its operator makes room on it.";

/** On the disk where a folder lies; undefined where nobody can tell. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk && disk.bavail * disk.bsize;
}

export function isOutOfSpace(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === "ENOSPC" || code === "EDQUOT";
}
