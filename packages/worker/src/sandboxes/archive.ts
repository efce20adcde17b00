import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { packDifferenceScript, unpackDifferenceScript } from "./difference.ts";
import type { RunScript } from "./files.ts";
import { firstBytes } from "./output.ts";
import type { Log } from "./sandbox.ts";

// Holes stay holes: a file that claims to be a terabyte costs nothing. A file its owner may not read is left out,
// with a word in the log, since a snapshot without it is worth more than none. The code 1 says that a file changed
// meanwhile.
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
  /** The name of the base that the archive leaves out. */
  base: string | undefined;
}

export function pack(options: ArchiveOptions): Readable {
  const out = new PassThrough();
  out.on("error", () => {}); // told to its reader, even if it comes before anybody reads
  packInto(out, options).catch((error) => out.destroy(error));
  return out;
}

async function packInto(out: PassThrough, { run, log, base }: ArchiveOptions): Promise<void> {
  const command = await (base === undefined
    ? run(packScript, [], "ignore")
    : run(packDifferenceScript, [base], "ignore"));
  out.once("close", () => command.kill());
  if (out.destroyed) command.kill();
  const [complaint, { exitCode }] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    pipeline(command.stdout, out, { end: false }),
  ]);
  if (exitCode !== 0) throw new Error(`The workspace cannot be packed: ${reason(exitCode, complaint)}`);
  // Not what tar says: it names files, and their names may be anything, a secret too.
  if (complaint.length > 0) log.warn({}, "the workspace was packed without files that cannot be read");
  out.end();
}

export async function unpack(tar: Readable, { run, base }: Omit<ArchiveOptions, "log">): Promise<void> {
  tar.on("error", () => {}); // told below, even if it comes before anybody reads
  const command = await (base === undefined
    ? run(unpackScript, [], "pipe")
    : run(unpackDifferenceScript, [base], "pipe"));
  // tar stops reading when it fails, and then its own words say more than the broken pipe.
  const sent = pipeline(tar, command.stdin).catch((error: Error) => {
    if (tar.errored) command.kill();
    return error;
  });
  const [complaint, { exitCode }, broken] = await Promise.all([
    firstBytes(command.stderr, 1000),
    command.ended,
    sent,
    firstBytes(command.stdout, 0),
  ]);
  if (exitCode === 0 && !tar.errored) return;
  throw new Error(`The workspace cannot be unpacked: ${reason(exitCode, complaint)}`, { cause: broken });
}

function reason(exitCode: number | null, complaint: Buffer): string {
  return exitCode === null
    ? "the sandbox was killed."
    : complaint.toString().trim() || `exit code ${exitCode}.`;
}
