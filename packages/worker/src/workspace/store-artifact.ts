import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { StoredArtifact, StoreOptions } from "@outrider/agent/workspace";
import { fileType } from "../file-type.ts";
import { HashingStream } from "../hashing-stream.ts";
import { quote } from "../quote.ts";
import { type ByteStream, createRedactTransform, type Redactor } from "../redaction/redact.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { CommandRecorderOptions } from "./command-recorder.ts";

const script = `
[ -e "$1" ] || exit 44
[ -f "$1" ] || exit 45
[ "$(stat -Lc %s "$1")" -lt "$2" ] || exit 46
exec head -c "$2" < "$1"
`;

/**
 * Stores a workspace file as an artifact. A text file is redacted. Redaction would corrupt a binary file, so a binary
 * file that contains a secret is rejected.
 */
export async function storeArtifact(
  path: string,
  options: StoreOptions & { sandbox: Sandbox; recorder: CommandRecorderOptions },
): Promise<StoredArtifact> {
  const { name, max_bytes, signal, recorder } = options;
  const { redactor, folder, quota } = recorder;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const original = join(folder, `${randomUUID()}.part`);
  const masked = join(folder, `${randomUUID()}.part`);
  try {
    const { hashing, scan } = await copyOut(path, { ...options, file: original, redactor });
    const copied = hashing.result();
    if (copied.size_bytes > max_bytes) throw tooLarge(path, max_bytes);
    if (scan.hasSecret && scan.isBinary) {
      throw new Error(
        `${path} is a binary file that contains a secret. Secrets cannot be masked in binary files.`,
      );
    }
    const stored = scan.hasSecret ? await mask(original, masked, { redactor, signal }) : copied;
    if (!quota.hasSpaceFor(stored.size_bytes)) {
      throw new Error(`The run has reached its artifact limit of ${quota.maxBytes} bytes.`);
    }
    const mime_type = options.mime_type ?? fileType(name, { isText: !scan.isBinary });
    quota.add(stored.size_bytes);
    const file = { path: scan.hasSecret ? masked : original, ...stored };
    const artifact_id = await recorder.storeArtifact(file, { name, mime_type });
    return { artifact_id, mime_type, size_bytes: stored.size_bytes, is_masked: scan.hasSecret };
  } finally {
    await rm(original, { force: true });
    await rm(masked, { force: true });
  }
}

/** Copies the file out of the sandbox. Reads one byte more than the limit, to detect a file that is too large. */
async function copyOut(
  path: string,
  options: StoreOptions & { sandbox: Sandbox; file: string; redactor: Redactor },
): Promise<{ hashing: HashingStream; scan: ContentScan }> {
  const { sandbox, signal, max_bytes, file, redactor } = options;
  const args = [path, String(max_bytes + 1)].map(quote).join(" ");
  const process = await sandbox.spawn(`set -- ${args}\n${script}`, { signal });
  process.stdin.on("error", () => {});
  process.stdin.end();
  const hashing = new HashingStream();
  const scan = new ContentScan(redactor);
  const [stderr, { exitCode }] = await Promise.all([
    firstBytes(process.stderr, 1_000),
    process.ended,
    pipeline(process.stdout, scan, hashing, createWriteStream(file, { mode: 0o600 }), { signal }),
  ]);
  if (exitCode === 44) throw new Error(`${path} does not exist.`);
  if (exitCode === 45) throw new Error(`${path} is not a file.`);
  if (exitCode === 46) throw tooLarge(path, max_bytes);
  if (exitCode !== 0) throw new Error(stderr.toString().trim() || `Cannot read ${path}.`);
  return { hashing, scan };
}

function tooLarge(path: string, max_bytes: number): Error {
  return new Error(`${path} is larger than ${max_bytes} bytes, the maximum size of an artifact.`);
}

/** Passes bytes through and detects whether they are binary and whether they contain a secret. */
export class ContentScan extends Transform {
  isBinary = false;
  readonly #redacted: ByteStream;

  constructor(redactor: Redactor) {
    super();
    this.#redacted = redactor.byteStream();
  }

  /** Read this after the stream has ended. */
  get hasSecret(): boolean {
    return this.#redacted.hasFound;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, data: Buffer) => void) {
    this.isBinary ||= chunk.includes(0);
    this.#redacted.push(chunk);
    done(null, chunk);
  }

  override _flush(done: () => void) {
    this.#redacted.end();
    done();
  }
}

export async function mask(
  from: string,
  to: string,
  { redactor, signal }: { redactor: Redactor; signal: AbortSignal },
) {
  const hashing = new HashingStream();
  const out = createWriteStream(to, { mode: 0o600 });
  await pipeline(createReadStream(from), createRedactTransform(redactor), hashing, out, { signal });
  return hashing.result();
}
