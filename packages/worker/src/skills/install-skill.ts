import { pipeline } from "node:stream/promises";
import { Failure } from "@outrider/agent/failure";
import { quote } from "../quote.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { SupportingFile } from "./supporting-files.ts";
import { createTar } from "./tar.ts";

/**
 * The folder for a skill from outside the run's repositories. It is outside the workspace, so it is not in any diff.
 */
export const skillFolder = (name: string) => `${sandboxPaths.home}/skills/${name}`;

/** Writes a skill's files to the sandbox and makes them read-only. Replaces files from an earlier turn. */
export async function installSkill(
  sandbox: Sandbox,
  { folder, files, signal }: { folder: string; files: SupportingFile[]; signal: AbortSignal },
): Promise<void> {
  const target = quote(folder);
  const script = `set -e
if [ -e ${target} ]; then chmod -R u+w ${target}; rm -rf ${target}; fi
mkdir -p ${target}
tar -C ${target} --no-same-owner -xf -
chmod -R a-w ${target}`;
  const tar = await sandbox.spawn(script, { signal, withWorkerPrograms: true });
  const [stderr, , { exitCode }] = await Promise.all([
    firstBytes(tar.stderr, 1_000),
    firstBytes(tar.stdout, 0),
    tar.ended,
    pipeline([createTar(files)], tar.stdin).catch(() => {}), // the exit code reports the error
  ]);
  if (exitCode === 0) return;
  signal.throwIfAborted();
  const reason = stderr.toString().trim() || `exit code ${exitCode ?? "none"}`;
  throw new Failure("sandbox_lost", `Cannot write the skill's files to the sandbox: ${reason}`);
}
