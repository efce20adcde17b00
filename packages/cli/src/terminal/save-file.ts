import { writeFileSync } from "node:fs";
import { UsageError } from "../exit-codes.ts";
import { describeSystemError } from "./system-errors.ts";

/** Writes a download to a file. Rejects an existing file, unless it may be overwritten. */
export function saveFile(path: string, content: Uint8Array, { force = false }: { force?: boolean }): void {
  try {
    writeFileSync(path, content, { flag: force ? "w" : "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      throw new UsageError(
        `Cannot write ${path}: ${describeSystemError(error) ?? (error as Error).message}.`,
      );
    throw new UsageError(
      `${path} already exists. Pass --force to overwrite it, or -o to choose another path.`,
    );
  }
}
