import { quote } from "../quote.ts";
import { workspacePath } from "../repositories/checkout.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { Outbox } from "./outbox.ts";

const SCRIPT_MS = 60_000;

interface SandboxCommit {
  sandbox: Sandbox;
  /** The path of the repository, relative to /workspace. */
  path: string;
  commit: string;
  /** A commit that the outbox has. */
  known: string;
  maxBytes: number;
  signal: AbortSignal;
}

/**
 * Adds a commit of the run's repository to an outbox. A client that pushes again does not send what it pushed before, which
 * the remote may have only in a rewritten form. If the repository no longer has the commit, the client sends everything.
 */
export async function addSandboxCommit(outbox: Outbox, options: SandboxCommit): Promise<void> {
  const { sandbox, commit, known, maxBytes, signal } = options;
  const script = `set -euo pipefail
unset "\${!GIT_@}"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1
cd -- ${quote(workspacePath(options.path))}
git() { command git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.directory='*' "$@"; }
git cat-file -e ${commit}
printf '%s\\n' ${commit} ^${known} | git pack-objects --quiet --revs --stdout
`;
  const process = await sandbox.spawn(script, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(SCRIPT_MS)]),
    withWorkerPrograms: true,
  });
  process.stdin.on("error", () => {});
  process.stdin.end();
  process.stderr.resume();
  try {
    await outbox.ingest(process.stdout, { maxBytes });
  } finally {
    process.stdout.destroy();
    await process.kill();
  }
}
