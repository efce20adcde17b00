import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { writeDurably } from "./files.ts";
import type { Place } from "./place.ts";

export function readPassword({ passwordPath }: Pick<Place, "passwordPath">): string | undefined {
  try {
    return readFileSync(passwordPath, "utf8").trim() || undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** On disk before initdb uses it: a cluster whose password got lost would stay closed. */
export function makePassword({ passwordPath }: Place): string {
  const password = randomBytes(24).toString("base64url");
  writeDurably(passwordPath, `${password}\n`);
  return password;
}
