import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, realpathSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  folder: string;
  /** Uses all remaining space. */
  fill(): void;
  /** Releases the space that `fill` used. */
  freeSpace(): void;
  remove(): void;
}

/** Mounts a small file system that a test can fill, on the given folder or on a new one. */
export function mountSmallDisk(
  megabytes: number,
  folder = realpathSync(mkdtempSync(join(tmpdir(), "outrider-disk-"))),
): SmallDisk {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "pipe" });
  } catch (error) {
    throw new Error(`Failed to mount a small file system. Run this test as root. ${error}`);
  }
  // PostgreSQL and sandboxes run under other accounts when the test runs as root, and need to traverse this folder.
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
    freeSpace: () => rmSync(filler, { force: true }),
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
