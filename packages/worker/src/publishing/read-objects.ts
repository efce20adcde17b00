import type { Readable } from "node:stream";
import type { Outbox } from "./outbox.ts";

const lineFeed = 10;
const MAX_HEADER_BYTES = 200;

/** An object that is being read. */
export interface ObjectReader {
  push(data: Buffer): void;
  end(): void;
}

/** Streams objects of an outbox, one after the other. Rejects if one is missing. */
export async function readObjects(
  outbox: Outbox,
  ids: readonly string[],
  options: {
    timeoutMs: number;
    onObject(object: { id: string; type: string; size: number }): ObjectReader | undefined;
  },
): Promise<void> {
  if (ids.length === 0) return;
  await outbox.run(["cat-file", "--batch", "--buffer"], {
    stdin: ids.map((id) => `${id}\n`).join(""),
    timeoutMs: options.timeoutMs,
    readOutput: (stdout) => readBatch(stdout, options.onObject),
  });
}

async function readBatch(
  stdout: Readable,
  onObject: (object: { id: string; type: string; size: number }) => ObjectReader | undefined,
): Promise<void> {
  let header = "";
  /** The object's remaining bytes, and the line break after them. */
  let bytesLeft = 0;
  let reader: ObjectReader | undefined;
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    let rest = chunk;
    while (rest.length > 0) {
      if (bytesLeft > 0) {
        const part = rest.subarray(0, bytesLeft);
        const isEnd = part.length === bytesLeft;
        reader?.push(isEnd ? part.subarray(0, -1) : part);
        bytesLeft -= part.length;
        rest = rest.subarray(part.length);
        if (isEnd) reader?.end();
        continue;
      }
      const end = rest.indexOf(lineFeed);
      header += rest.toString("latin1", 0, end < 0 ? rest.length : end);
      if (header.length > MAX_HEADER_BYTES) throw new Error("git cat-file printed an unexpected line.");
      if (end < 0) break;
      rest = rest.subarray(end + 1);
      const [id = "", type = "", size = ""] = header.split(" ");
      header = "";
      if (!/^\d+$/.test(size)) throw new Error(`The object ${id.slice(0, 64)} is missing.`);
      reader = onObject({ id, type, size: Number(size) });
      bytesLeft = Number(size) + 1;
    }
  }
}

/** Reads one object, or returns undefined if it does not exist, is missing or is larger than the limit. */
export async function readSmallObject(
  outbox: Outbox,
  name: string,
  { maxBytes }: { maxBytes: number },
): Promise<Buffer | undefined> {
  if (/[\n\0]/.test(name)) return undefined;
  const check = await outbox.run(["cat-file", "--batch-check"], { stdin: `${name}\n` });
  const [id = "", type, size = ""] = check.trim().split(" ");
  if (type !== "blob" || !/^\d+$/.test(size) || Number(size) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  await readObjects(outbox, [id], {
    timeoutMs: 60_000,
    onObject: () => ({ push: (data) => void chunks.push(Buffer.from(data)), end() {} }),
  });
  return Buffer.concat(chunks);
}
