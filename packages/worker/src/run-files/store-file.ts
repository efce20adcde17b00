import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { runFileLimits } from "@outrider/contract/run-file";
import { HashingStream } from "../hashing-stream.ts";
import { quote } from "../quote.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { ContentScan, mask } from "../workspace/store-artifact.ts";
import { checkExit, enterScript, RunFileError, readStderr } from "./enter-script.ts";

const BLOCK_BYTES = 64 * 1024;

interface StoreOptions {
  redactor: Redactor;
  server: Pick<ServerClient, "putBlob">;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  /** The maximum size of the file. */
  maxBytes?: number;
  signal: AbortSignal;
}

/**
 * Stores the content of a file of the workspace as a blob. A text file is redacted; a binary file that contains a secret is
 * refused. The file may grow, or become a link or a pipe, while it is read.
 */
export async function storeFile(
  sandbox: Sandbox,
  path: string,
  { redactor, server, folder, maxBytes = runFileLimits.bytes, signal }: StoreOptions,
): Promise<{ sha256: string; size_bytes: number }> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const original = join(folder, `${randomUUID()}.part`);
  const masked = join(folder, `${randomUUID()}.part`);
  try {
    const { copied, scan } = await copyOut(sandbox, path, { file: original, maxBytes, redactor, signal });
    if (copied.size_bytes > maxBytes) throw new RunFileError("too_large");
    if (scan.hasSecret && scan.isBinary) throw new RunFileError("contains_secret");
    const stored = scan.hasSecret ? await mask(original, masked, { redactor, signal }) : copied;
    await server.putBlob(scan.hasSecret ? masked : original, stored.sha256, signal);
    return stored;
  } finally {
    await rm(original, { force: true });
    await rm(masked, { force: true });
  }
}

/** Copies at most one block more than the limit, to detect a file that grows. `dd` follows no link and waits for no pipe. */
async function copyOut(
  sandbox: Sandbox,
  path: string,
  {
    file,
    maxBytes,
    redactor,
    signal,
  }: { file: string; maxBytes: number; redactor: Redactor; signal: AbortSignal },
) {
  const folder = posix.dirname(path);
  const script = `${enterScript(folder === "." ? "" : folder)}
set -- ${quote(`./${posix.basename(path)}`)}
if [[ -L $1 || ! -f $1 ]]; then
  if [[ -L $1 || -e $1 ]]; then exit 48; else exit 44; fi
fi
[[ -r $1 ]] || exit 47
[[ $(stat -c %s "$1") -le ${maxBytes} ]] || exit 46
exec dd if="$1" iflag=nofollow,nonblock,fullblock bs=${BLOCK_BYTES} count=${Math.ceil(maxBytes / BLOCK_BYTES) + 1} status=none
`;
  const command = await sandbox.inspect(script, { signal });
  command.stdin.on("error", () => {});
  command.stdin.end();
  const hashing = new HashingStream();
  const scan = new ContentScan(redactor);
  const [stderr, { exitCode }] = await Promise.all([
    readStderr(command.stderr),
    command.ended,
    pipeline(command.stdout, scan, hashing, createWriteStream(file, { mode: 0o600 }), { signal }),
  ]);
  checkExit(exitCode, stderr);
  return { copied: hashing.result(), scan };
}
