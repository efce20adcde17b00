import { pipeline } from "node:stream/promises";
import { Failure } from "@outrider/agent/failure";
import { quoted } from "../quoted.ts";
import { own } from "../sandboxes/bubblewrap.ts";
import { firstBytes } from "../sandboxes/output.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { SupportingFile } from "./supporting.ts";
import { tarOf } from "./tar.ts";

/** Where a skill's files lie that are not among the run's repositories: beside the workspace, so no diff tells of them. */
export const skillFolder = (name: string) => `${own.home}/skills/${name}`;

/** Puts files into the sandbox, for reading. What lay there before, as after an earlier turn, goes. */
export async function putSkill(
  sandbox: Sandbox,
  { folder, files, signal }: { folder: string; files: SupportingFile[]; signal: AbortSignal },
): Promise<void> {
  const place = quoted(folder);
  const script = `set -e
if [ -e ${place} ]; then chmod -R u+w ${place}; rm -rf ${place}; fi
mkdir -p ${place}
tar -C ${place} --no-same-owner -xf -
chmod -R a-w ${place}`;
  const tar = await sandbox.spawn(script, { signal });
  const [complaint, , { exitCode }] = await Promise.all([
    firstBytes(tar.stderr, 1_000),
    firstBytes(tar.stdout, 0),
    tar.ended,
    pipeline([tarOf(files)], tar.stdin).catch(() => {}), // its exit code tells
  ]);
  if (exitCode === 0) return;
  signal.throwIfAborted();
  const reason = complaint.toString().trim() || `exit code ${exitCode ?? "none"}`;
  throw new Failure("sandbox_lost", `The skill's files cannot be put into the sandbox: ${reason}`);
}
