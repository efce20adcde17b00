import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Complaint } from "./exit.ts";

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
    throw new Complaint(`${path} cannot be read: ${(error as Error).message}.`);
  }
  try {
    const { profiles } = JSON.parse(text) as { profiles: Profiles };
    if (Object.values(profiles).every((each) => typeof each.base_url === "string" && each.api_key))
      return profiles;
  } catch {
    // What it was is said below, without its text: it holds keys.
  }
  throw new Complaint(`${path} is not a file of profiles: put it right, or remove it and log in again.`);
}

/** In one step and for its owner alone: it holds keys. */
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
