import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Refusal } from "./refusal.ts";

/** Files by the hash of their content: snapshots of workspaces, output too large for an event. */
export interface Blobs {
  put(sha256: string, content: Readable): Promise<void>;
  open(sha256: string): Promise<{ content: Readable; size: number } | undefined>;
}

export function openBlobs(folder: string): Blobs {
  const place = (sha256: string) => join(folder, sha256.slice(0, 2), sha256);
  return {
    async put(sha256, content) {
      const target = place(sha256);
      const draft = `${target}.${randomUUID()}.part`;
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const hash = createHash("sha256");
      const tee = new Transform({
        transform(chunk, _encoding, done) {
          hash.update(chunk);
          done(null, chunk);
        },
      });
      try {
        await pipeline(content, tee, createWriteStream(draft, { mode: 0o600, flush: true }));
        if (hash.digest("hex") !== sha256) {
          throw new Refusal("invalid_request", "The content does not have the hash that its address names.");
        }
        await rename(draft, target);
      } finally {
        await rm(draft, { force: true });
      }
    },
    async open(sha256) {
      const found = await stat(place(sha256)).catch(() => undefined);
      return found && { content: createReadStream(place(sha256)), size: found.size };
    },
  };
}
