import { realpath, statfs } from "node:fs/promises";
import type { Logger } from "pino";
import { isOutOfSpace } from "../../store/connection/db.ts";
import { startTicker } from "../../ticker.ts";
import { ApiError } from "../api-error.ts";
import type { MaintenanceView } from "../operations/maintenance.ts";

const CHECK_EVERY_MS = 2_000;
/**
 * After an out-of-space error, the disk is assumed to be full for this long. After that, new runs are accepted again.
 */
const FULL_AFTER_ERROR_MS = 30_000;
const RELIEVE_EVERY_MS = 10_000;

export const outOfSpace =
  "The service is low on disk space and does not accept new runs. Try again later, or ask the operator to free disk space or shorten the retention.";

/**
 * Decides whether the server accepts new runs. It rejects them while an operator has paused admission or a disk is low
 * on space, because the remaining space is reserved for active runs' events and files.
 */
export interface Admission {
  isOpen(): boolean;
  /** True if every disk has enough free space for new runs. */
  hasSpace(): boolean;
  /** Throws if new runs are not accepted. */
  requireOpen(): void;
  /** Inspects an error and, if a disk is out of space, stops accepting runs for a while. */
  noteError(error: unknown): void;
  /** Returns free bytes by folder name. Folders whose disk cannot be read are omitted. */
  free(): Record<string, number>;
  stop(): Promise<void>;
}

export interface AdmissionOptions {
  /** The folders that the service writes to, keyed by their names in metrics. Symbolic links are followed. */
  folders: Record<string, string>;
  minFreeBytes: number;
  /** Frees space by deleting unneeded data. Called periodically while space is low. */
  relieve?: () => Promise<unknown>;
  maintenance: Pick<MaintenanceView, "acceptsRuns" | "requireAdmission">;
  log: Logger;
}

export async function openAdmission(options: AdmissionOptions): Promise<Admission> {
  const { folders, minFreeBytes, relieve, maintenance, log } = options;
  let free: Record<string, number> = {};
  let relievedAt = Number.NEGATIVE_INFINITY;
  let errorAt = Number.NEGATIVE_INFINITY;
  let hadSpace = true;

  const hasSpace = () =>
    performance.now() - errorAt > FULL_AFTER_ERROR_MS &&
    Object.values(free).every((bytes) => bytes >= minFreeBytes);

  /** Logs only transitions, so that rejected requests do not flood the log. */
  function logChange() {
    if (hasSpace() === hadSpace) return;
    hadSpace = !hadSpace;
    if (hadSpace) log.info({ free }, "disk space recovered, accepting new runs");
    else log.warn({ free, min_free_bytes: minFreeBytes }, "low disk space, rejecting new runs");
  }

  async function check() {
    const found = await Promise.all(
      Object.entries(folders).map(async ([name, folder]) => {
        const path = await realpath(folder).catch(() => undefined);
        const disk = path && (await statfs(path).catch(() => undefined));
        return disk ? [[name, disk.bavail * disk.bsize] as const] : [];
      }),
    );
    free = Object.fromEntries(found.flat());
    logChange();
    if (hasSpace() || performance.now() - relievedAt < RELIEVE_EVERY_MS) return;
    relievedAt = performance.now();
    // Not awaited, because it may take longer than the interval between two checks.
    void relieve?.().catch((error) => log.debug({ error }, "failed to free disk space"));
  }

  await check();
  const ticker = startTicker({ everyMs: CHECK_EVERY_MS, task: check });
  return {
    isOpen: () => hasSpace() && maintenance.acceptsRuns(),
    hasSpace,
    requireOpen() {
      maintenance.requireAdmission();
      if (!hasSpace()) throw new ApiError("resource_unavailable", outOfSpace);
    },
    noteError(error) {
      if (!isOutOfSpace(error)) return;
      errorAt = performance.now();
      logChange();
    },
    free: () => free,
    stop: ticker.stop,
  };
}
