import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { UsageError } from "./exit-codes.ts";
import { describeSystemError } from "./terminal/system-errors.ts";

export interface Profile {
  base_url: string;
  api_key: string;
}

export type Profiles = Record<string, Profile>;

export const DEFAULT_PROFILE = "default";

export function profilesPath(): string {
  const { XDG_CONFIG_HOME } = process.env;
  return join(XDG_CONFIG_HOME || join(homedir(), ".config"), "outrider", "config.json");
}

export function readProfiles(): Profiles {
  const path = profilesPath();
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw new UsageError(`Cannot read ${path}: ${describeSystemError(error) ?? (error as Error).message}.`);
  }
  try {
    const { profiles } = JSON.parse(text) as { profiles: Profiles };
    if (Object.values(profiles).every(({ base_url, api_key }) => typeof base_url === "string" && api_key))
      return profiles;
  } catch {
    // The error below does not quote the file, because it contains keys.
  }
  throw new UsageError(`${path} is not a valid profile file. Fix it, or delete it and log in again.`);
}

/** Writes the file atomically and readable only by its owner, because it contains keys. */
export function writeProfiles(profiles: Profiles): void {
  const path = profilesPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${randomUUID()}`;
  try {
    writeFileSync(next, `${JSON.stringify({ profiles }, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
