import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { openStorage } from "@outrider/server/blobs/open-storage";
import type { Config } from "@outrider/server/config";
import { type Finding, fail, ok } from "./finding.ts";

/** Stores, reads and deletes a file in the bucket. Returns no findings if files are stored in a folder: see disk.ts. */
export async function storageFindings({ blobs }: Config): Promise<Finding[]> {
  if (blobs.type === "folder") return [];
  const storage = await openStorage(blobs);
  const content = randomBytes(64);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const start = performance.now();
  const steps = {
    store: () => storage.put(sha256, Readable.from([content]), { size: content.length }),
    async read() {
      const found = await storage.open(sha256);
      const isEqual = found && (await buffer(found.content)).equals(content);
      if (!isEqual) throw new Error("A file that was just stored has another content.");
    },
    list: async () => void (await storage.list(sha256.slice(0, 2))[Symbol.asyncIterator]().next()),
    delete: () => storage.delete([sha256]),
    "list uploads of": () => storage.deleteAbandonedUploads(new Date(0)),
  };
  for (const [verb, step] of Object.entries(steps)) {
    try {
      await step();
    } catch (error) {
      return [fail("storage", `cannot ${verb} files in ${storage.location}`, (error as Error).message)];
    }
  }
  const ms = Math.round(performance.now() - start);
  return [ok("storage", `${storage.location} stores, returns and deletes files (${ms} ms)`)];
}
