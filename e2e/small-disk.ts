import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, realpathSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  folder: string;
  /** Takes what is left, to the last byte. */
  fill(): void;
  /** Gives all of that back. */
  makeRoom(): void;
  remove(): void;
}

/** A file system of its own that a test can fill; on a folder that exists, or on a new one. */
export function smallDisk(
  megabytes: number,
  folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-disk-"))),
): SmallDisk {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    throw new Error(`These tests mount a small file system, which takes root: run them as root. ${error}`);
  }
  // The accounts under which root's PostgreSQL and sandboxes run have to pass.
  chmodSync(folder, 0o711);
  const filler = join(folder, "filler");
  return {
    folder,
    fill() {
      const file = openSync(filler, "a");
      try {
        for (const size of [2 ** 20, 4_096, 1]) writeUntilFull(file, Buffer.alloc(size, "x"));
      } finally {
        closeSync(file);
      }
    },
    makeRoom: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync("umount", ["-l", folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writeUntilFull(file: number, data: Buffer) {
  try {
    for (;;) writeSync(file, data);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
}
