import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { BlobStorage, StoredBlob } from "../../src/blobs/blob-storage.ts";

export const hashOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");
export const streamOf = (content: Buffer, chunk = 2 ** 16) =>
  Readable.from(
    (function* () {
      for (let start = 0; start < content.length; start += chunk)
        yield content.subarray(start, start + chunk);
    })(),
  );

export async function listAll(storage: BlobStorage, start?: string): Promise<StoredBlob[]> {
  const all: StoredBlob[] = [];
  for await (const batch of storage.list(start)) all.push(...batch);
  return all;
}

/** Larger than two parts of a multipart upload. */
const LARGE = 17 * 2 ** 20 + 3;

/** What every storage must do. `countUploads` returns the number of unfinished uploads that it holds. */
export function testStorage(
  name: string,
  open: () => { storage: BlobStorage; countUploads(): Promise<number> },
) {
  const storage = () => open().storage;
  const put = async (content: Buffer, options = {}) => {
    await storage().put(hashOf(content), streamOf(content), options);
    return hashOf(content);
  };
  const read = async (sha256: string) => {
    const blob = await storage().open(sha256);
    return blob && buffer(blob.content);
  };
  const listed = (start?: string) => listAll(storage(), start);

  describe(`the storage of ${name}`, () => {
    test.each([
      ["empty", Buffer.alloc(0)],
      ["small", Buffer.from("small")],
      ["of several parts", randomBytes(LARGE)],
    ])("stores a blob that is %s, and returns it unchanged", async (_, content) => {
      const sizes: number[] = [];
      const beforeVisible = async (size: number) => {
        expect(await storage().stat(hashOf(content))).toBeUndefined();
        sizes.push(size);
      };
      const sha256 = await put(content, { beforeVisible });
      expect(sizes).toEqual([content.length]);
      expect(await storage().stat(sha256)).toMatchObject({ sha256, size: content.length });
      const blob = await storage().open(sha256);
      expect(blob?.size).toBe(content.length);
      expect((await read(sha256))?.equals(content)).toBe(true);
      // Storing it again succeeds, and also announces it: garbage collection must know that it is in use.
      await put(content, { beforeVisible: async (size: number) => void sizes.push(size) });
      expect(sizes).toEqual([content.length, content.length]);
      expect(await open().countUploads()).toBe(0);
    });

    test("returns a part of a blob", async () => {
      const sha256 = await put(Buffer.from("0123456789"));
      const blob = await storage().open(sha256, (size) => ({ start: 3, end: size - 3 }));
      expect(blob).toMatchObject({ size: 10, range: { start: 3, end: 7 } });
      expect((await buffer((blob as NonNullable<typeof blob>).content)).toString()).toBe("34567");
      const whole = await storage().open(sha256, () => undefined);
      expect((await buffer((whole as NonNullable<typeof whole>).content)).toString()).toBe("0123456789");
    });

    test("has no blob that was never stored", async () => {
      const sha256 = hashOf(Buffer.from("never"));
      expect(await storage().stat(sha256)).toBeUndefined();
      expect(await storage().open(sha256)).toBeUndefined();
      expect(await storage().open(sha256, () => undefined)).toBeUndefined();
      await storage().delete([sha256]);
    });

    test.each([
      ["small", 10],
      ["large", LARGE],
    ])("stores nothing of %s content with another hash", async (_, size) => {
      const sha256 = hashOf(randomBytes(8));
      const isAnnounced: boolean[] = [];
      const beforeVisible = async () => void isAnnounced.push(true);
      const stored = storage().put(sha256, streamOf(randomBytes(size)), { beforeVisible });
      await expect(stored).rejects.toThrow("does not match its SHA-256");
      expect(isAnnounced).toEqual([]);
      expect(await storage().stat(sha256)).toBeUndefined();
      expect(await open().countUploads()).toBe(0);
    });

    test("stores nothing if the content breaks off, or if announcing the blob fails", async () => {
      const content = randomBytes(LARGE);
      const broken = Readable.from(
        (async function* () {
          yield content.subarray(0, LARGE - 10);
          throw new Error("connection lost");
        })(),
      );
      await expect(storage().put(hashOf(content), broken)).rejects.toThrow("connection lost");
      const beforeVisible = () => Promise.reject(new Error("no row"));
      await expect(put(content, { beforeVisible })).rejects.toThrow("no row");
      expect(await storage().stat(hashOf(content))).toBeUndefined();
      expect(await open().countUploads()).toBe(0);
    });

    test("accepts the same blob from several writers at once", async () => {
      const content = randomBytes(1_000);
      const sha256 = hashOf(content);
      await Promise.all(Array.from({ length: 8 }, () => put(content)));
      expect((await read(sha256))?.equals(content)).toBe(true);
    });

    test("lists blobs, all of them or those with the same start, and deletes them by age", async () => {
      const hashes = await Promise.all(["a", "b", "c"].map((text) => put(Buffer.from(`listed ${text}`))));
      const [first = "", second = "", third = ""] = hashes;
      expect((await listed()).map(({ sha256 }) => sha256)).toEqual(expect.arrayContaining(hashes));
      expect(await listed(first.slice(0, 2))).toContainEqual(
        expect.objectContaining({ sha256: first, size: 8, storedAt: expect.any(Date) }),
      );
      expect((await listed("zz")).length).toBe(0);
      await storage().delete([first, second], { storedBefore: new Date(Date.now() - 60_000) });
      expect(await storage().stat(first)).toBeDefined();
      await storage().delete([first, second], { storedBefore: new Date(Date.now() + 60_000) });
      await storage().delete([third, first]);
      for (const sha256 of hashes) expect(await storage().stat(sha256)).toBeUndefined();
    });
  });
}
