import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The checkout that a release is made from. */
export interface Checkout {
  root: string;
  version: string;
  /** The time in seconds that all files of the release get, so that the same commit always gives the same bytes. */
  epoch: number;
}

export function readCheckout(root = resolve(import.meta.dirname, "../..")): Checkout {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return { root, version, epoch: Number(process.env.SOURCE_DATE_EPOCH ?? readCommitTime(root)) };
}

function readCommitTime(root: string): string {
  return execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" }).trim();
}
