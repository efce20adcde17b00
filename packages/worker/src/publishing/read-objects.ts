import type { Readable } from "node:stream";
import type { Outbox } from "./outbox.ts";

const lineFeed = 10;
const MAX_HEADER_BYTES = 200;
const READ_MS = 60_000;

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

/** Reads the files among the objects that exist and are not larger than the limit. */
export async function readSmallObjects(
  outbox: Outbox,
  names: readonly string[],
  { maxBytes }: { maxBytes: number },
): Promise<Map<string, Buffer>> {
  const requests = names.filter((name) => !/[\n\0]/.test(name));
  const contents = new Map<string, Buffer>();
  if (requests.length === 0) return contents;
  const check = await outbox.run(["cat-file", "--batch-check", "--buffer"], {
    stdin: requests.map((name) => `${name}\n`).join(""),
  });
  const ids = check.split("\n").map((line) => {
    const [, id, size = ""] = /^([0-9a-f]+) blob (\d+)$/.exec(line) ?? [];
    return id !== undefined && Number(size) <= maxBytes ? id : undefined;
  });
  const byId = new Map<string, Buffer>();
  await readObjects(outbox, [...new Set(ids.flatMap((id) => id ?? []))], {
    timeoutMs: READ_MS,
    onObject({ id }) {
      const chunks: Buffer[] = [];
      return {
        push: (data) => void chunks.push(Buffer.from(data)),
        end: () => void byId.set(id, Buffer.concat(chunks)),
      };
    },
  });
  for (const [index, name] of requests.entries()) {
    const content = byId.get(ids[index] ?? "");
    if (content) contents.set(name, content);
  }
  return contents;
}

/** Reads one file, or returns undefined if it does not exist, is missing or is larger than the limit. */
export async function readSmallObject(
  outbox: Outbox,
  name: string,
  options: { maxBytes: number },
): Promise<Buffer | undefined> {
  return (await readSmallObjects(outbox, [name], options)).get(name);
}
