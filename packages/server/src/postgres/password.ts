import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeDurably } from "./files.ts";
import type { ClusterPaths } from "./paths.ts";

export function readPassword({ passwordPath }: Pick<ClusterPaths, "passwordPath">): string | undefined {
  try {
    return readFileSync(passwordPath, "utf8").trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Creates the superuser's password. It is written to disk before initdb uses it, because without the password the
 * cluster would be inaccessible.
 */
export function createPassword({ passwordPath }: ClusterPaths): string {
  const password = randomBytes(24).toString("base64url");
  writeDurably(passwordPath, `${password}\n`);
  return password;
}
