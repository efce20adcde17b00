import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { extname, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringDecoder } from "node:string_decoder";
import type { KeepOptions, KeptArtifact } from "@outrider/agent/workspace";
import { Hashing } from "./hashing.ts";
import { quoted } from "./quoted.ts";
import type { RecordingOptions } from "./recording.ts";
import { type Redactor, redacting } from "./redact.ts";
import { firstBytes } from "./sandboxes/output.ts";
import type { Sandbox } from "./sandboxes/sandbox.ts";

const script = `
[[ -e $1 ]] || exit 44
[[ -f $1 ]] || exit 45
(($(stat -Lc %s -- "$1") < $2)) || exit 46
exec head -c "$2" -- "$1"
`;

const types: Record<string, string> = {
  ".csv": "text/csv",
  ".css": "text/css",
  ".gif": "image/gif",
  ".gz": "application/gzip",
  ".htm": "text/html",
  ".html": "text/html",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".tar": "application/x-tar",
  ".webm": "video/webm",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".zip": "application/zip",
};

/**
 * Stores a file of the workspace as an artifact. A text is kept without the secrets in it. To mask something in any
 * other file would break it, so that such a file is refused.
 */
export async function keepFile(
  path: string,
  options: KeepOptions & { sandbox: Sandbox; recording: RecordingOptions },
): Promise<KeptArtifact> {
  const { name, max_bytes, signal, recording } = options;
  const { redactor, folder, kept, keep } = recording;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const plain = join(folder, `${randomUUID()}.part`);
  const masked = join(folder, `${randomUUID()}.part`);
  try {
    const { hashing, scan } = await fetch(path, { ...options, file: plain, redactor });
    const original = hashing.result();
    if (original.size_bytes > max_bytes) throw tooLarge(path, max_bytes);
    if (scan.hasSecret && scan.isBinary) {
      throw new Error(`${path} is a binary file with a secret in it, which cannot be masked there.`);
    }
    const stored = scan.hasSecret ? await mask(plain, masked, { redactor, signal }) : original;
    if (!kept.hasRoomFor(stored.size_bytes)) {
      throw new Error(`The run has kept as much as it may: ${kept.most} bytes.`);
    }
    const byDefault = scan.isBinary ? "application/octet-stream" : "text/plain";
    const mime_type = options.mime_type ?? types[extname(name).toLowerCase()] ?? byDefault;
    kept.add(stored.size_bytes);
    const file = { path: scan.hasSecret ? masked : plain, ...stored };
    const artifact_id = await keep(file, { name: redactor.text(name), mime_type });
    return { artifact_id, mime_type, size_bytes: stored.size_bytes, is_masked: scan.hasSecret };
  } finally {
    await rm(plain, { force: true });
    await rm(masked, { force: true });
  }
}

/** Brings the file out of the sandbox, and a byte more than the most, by which one too large is known. */
async function fetch(
  path: string,
  options: KeepOptions & { sandbox: Sandbox; file: string; redactor: Redactor },
): Promise<{ hashing: Hashing; scan: Scan }> {
  const { sandbox, signal, max_bytes, file, redactor } = options;
  const words = [path, String(max_bytes + 1)].map(quoted).join(" ");
  const running = await sandbox.spawn(`set -- ${words}\n${script}`, { signal });
  running.stdin.on("error", () => {});
  running.stdin.end();
  const hashing = new Hashing();
  const scan = new Scan(redactor);
  const [complaint, { exitCode }] = await Promise.all([
    firstBytes(running.stderr, 1_000),
    running.ended,
    pipeline(running.stdout, scan, hashing, createWriteStream(file, { mode: 0o600 }), { signal }),
  ]);
  if (exitCode === 44) throw new Error(`${path} does not exist.`);
  if (exitCode === 45) throw new Error(`${path} is not a file.`);
  if (exitCode === 46) throw tooLarge(path, max_bytes);
  if (exitCode !== 0) throw new Error(complaint.toString().trim() || `${path} cannot be read.`);
  return { hashing, scan };
}

function tooLarge(path: string, max_bytes: number): Error {
  return new Error(`${path} is larger than ${max_bytes} bytes, the most that can be kept.`);
}

/** Lets bytes through; then it knows whether they are binary, and whether a secret stands among them. */
class Scan extends Transform {
  isBinary = false;
  private readonly decoder: StringDecoder;
  private readonly clean: ReturnType<Redactor["stream"]>;
  private readonly before = createHash("sha256");
  private readonly after = createHash("sha256");
  hasSecret = false;

  constructor(redactor: Redactor) {
    super();
    this.decoder = new StringDecoder(redactor.isAscii ? "latin1" : "utf8");
    this.clean = redactor.stream();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: (error: null, data: Buffer) => void) {
    this.isBinary ||= chunk.includes(0);
    this.look(this.decoder.write(chunk));
    done(null, chunk);
  }

  override _flush(done: () => void) {
    this.look(this.decoder.end());
    this.after.update(this.clean.end());
    this.hasSecret = this.before.digest("hex") !== this.after.digest("hex");
    done();
  }

  private look(text: string) {
    this.before.update(text);
    this.after.update(this.clean.push(text));
  }
}

async function mask(
  from: string,
  to: string,
  { redactor, signal }: { redactor: Redactor; signal: AbortSignal },
) {
  const hashing = new Hashing();
  const out = createWriteStream(to, { mode: 0o600 });
  await pipeline(createReadStream(from), redacting(redactor), hashing, out, { signal });
  return hashing.result();
}
