import { realpath, statfs } from "node:fs/promises";
import type { Logger } from "pino";
import { isOutOfSpace } from "../store/db.ts";
import type { BrakeView } from "./brake.ts";
import { Refusal } from "./refusal.ts";

const EVERY_MS = 2_000;
/** After an error that says so, a disk counts as full for this long. If it is not, the next creation shows it. */
const HEARD_MS = 30_000;
const RELIEVE_EVERY_MS = 10_000;

export const outOfSpace =
  "The service's disk is short of space. Try again later; its operator makes room on the disk, or by a shorter retention.";

/**
 * Whether new work is taken. While a disk is short of space, it is not: what is left belongs to the runs that are at work,
 * whose events and files are taken as long as anything can be written. Nor is it while the operator has paused it.
 */
export interface Intake {
  isOpen(): boolean;
  /** Whether the disks have room for it. */
  hasRoom(): boolean;
  /** Refuses new work while there is no room for it, or the operator wants none. */
  requireOpen(): void;
  /** Looks at an error of anybody's: one that says a disk is full closes the intake for a while. */
  heard(error: unknown): void;
  /** Bytes that are free where a folder lies, by the folder's name; absent where nobody could tell. */
  free(): Record<string, number>;
  stop(): Promise<void>;
}

export interface IntakeOptions {
  /** What is written to, by the names that metrics call them. Links are followed. */
  folders: Record<string, string>;
  minFreeBytes: number;
  /** Gives room back that can be spared; asked from time to time while there is too little. */
  relieve?: () => Promise<unknown>;
  brake: Pick<BrakeView, "takesRuns" | "requireIntake">;
  log: Logger;
}

export async function openIntake(options: IntakeOptions): Promise<Intake> {
  const { folders, minFreeBytes, relieve, brake, log } = options;
  let free: Record<string, number> = {};
  let relievedAt = Number.NEGATIVE_INFINITY;
  let heardAt = Number.NEGATIVE_INFINITY;
  let wasOpen = true;

  const hasRoom = () =>
    performance.now() - heardAt > HEARD_MS && Object.values(free).every((bytes) => bytes >= minFreeBytes);

  /** One line for each change, however many are refused in between. */
  function tell() {
    if (hasRoom() === wasOpen) return;
    wasOpen = !wasOpen;
    if (wasOpen) log.info({ free }, "there is room again: new runs are taken");
    else log.warn({ free, min_free_bytes: minFreeBytes }, "a disk is short of space: no new runs are taken");
  }

  async function look() {
    const found = await Promise.all(
      Object.entries(folders).map(async ([name, folder]) => {
        const place = await realpath(folder).catch(() => undefined);
        const disk = place && (await statfs(place).catch(() => undefined));
        return disk ? [[name, disk.bavail * disk.bsize] as const] : [];
      }),
    );
    free = Object.fromEntries(found.flat());
    tell();
    if (hasRoom() || performance.now() - relievedAt < RELIEVE_EVERY_MS) return;
    relievedAt = performance.now();
    // It may take longer than the next look waits.
    void relieve?.().catch((error) => log.debug({ error }, "cannot give room back"));
  }

  await look();
  let work = Promise.resolve();
  const ticker = setInterval(() => {
    work = work.then(look);
  }, EVERY_MS);
  return {
    isOpen: () => hasRoom() && brake.takesRuns(),
    hasRoom,
    requireOpen() {
      brake.requireIntake();
      if (!hasRoom()) throw new Refusal("resource_unavailable", outOfSpace);
    },
    heard(error) {
      if (!isOutOfSpace(error)) return;
      heardAt = performance.now();
      tell();
    },
    free: () => free,
    async stop() {
      clearInterval(ticker);
      await work;
    },
  };
}
