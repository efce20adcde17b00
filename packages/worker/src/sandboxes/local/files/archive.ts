import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Log } from "../../../log.ts";
import { firstBytes } from "../../first-bytes.ts";
import { packDifferenceScript, unpackDifferenceScript } from "./difference.ts";
import type { RunScript } from "./read-write.ts";

// Sparse files stay sparse, so a file that claims to be a terabyte takes up no space. Unreadable files are skipped with
// a warning, because an incomplete snapshot is better than none. tar's exit code 1 means that a file changed while it
// was being read, which is accepted.
const packScript = `
set -o pipefail
tar -C /workspace --format=pax --pax-option=delete=atime,delete=ctime --sparse --sort=name \\
  --owner=0 --group=0 --numeric-owner --ignore-failed-read -cf - . | gzip -1
codes=("\${PIPESTATUS[@]}")
((codes[0] < 2 && codes[1] == 0))
`;

const unpackScript = "exec tar -C /workspace --no-same-owner --same-permissions -xzf -";

interface ArchiveOptions {
  run: RunScript;
  log: Log;
  /** The name of the base whose files the archive omits. */
  base: string | undefined;
}

export function pack(options: ArchiveOptions): Readable {
  const out = new PassThrough();
  // A stream that errors before anyone reads it must not crash the worker. A later reader still gets the error.
  out.on("error", () => {});
  packInto(out, options).catch((error) => out.destroy(error));
  return out;
}

async function packInto(out: PassThrough, { run, log, base }: ArchiveOptions): Promise<void> {
  const command = await (base === undefined
    ? run(packScript, [], "ignore")
    : run(packDifferenceScript, [base], "ignore"));
  out.once("close", () => command.kill());
  if (out.destroyed) command.kill();
  const [stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    pipeline(command.stdout, out, { end: false }),
  ]);
  if (exitCode !== 0) throw new Error(`Failed to pack the workspace: ${failureReason(exitCode, stderr)}`);
  // tar's output is not logged: it contains file names, which may contain secrets.
  if (stderr.length > 0) log.warn({}, "skipped unreadable files in workspace snapshot");
  out.end();
}

export async function unpack(tar: Readable, { run, base }: Omit<ArchiveOptions, "log">): Promise<void> {
  tar.on("error", () => {}); // reported below
  const command = await (base === undefined
    ? run(unpackScript, [], "pipe")
    : run(unpackDifferenceScript, [base], "pipe"));
  // When tar fails, it stops reading. Its stderr is then more useful than the broken-pipe error.
  const sent = pipeline(tar, command.stdin).catch((error: Error) => {
    if (tar.errored) command.kill();
    return error;
  });
  const [stderr, { exitCode }, pipeError] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    sent,
    firstBytes(command.stdout, 0),
  ]);
  if (exitCode === 0 && !tar.errored) return;
  throw new Error(`Failed to unpack the workspace: ${failureReason(exitCode, stderr)}`, { cause: pipeError });
}

function failureReason(exitCode: number | null, stderr: Buffer): string {
  return exitCode === null ? "the sandbox was killed." : stderr.toString().trim() || `exit code ${exitCode}.`;
}
