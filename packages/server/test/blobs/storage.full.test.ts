import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type BlobStorage, relativePath } from "../../src/blobs/blob-storage.ts";
import { openStorage } from "../../src/blobs/open-storage.ts";
import { readConfig } from "../../src/config.ts";
import { type S3Server, s3Environment, s3KmsKey, startS3Server } from "./s3-server.ts";
import { hashOf, streamOf, testStorage } from "./storage-conformance.ts";

/** The same tests as in storage.test.ts, with other servers. */
describe.each(["versitygw", "minio"] as const)("%s", (name) => {
  let server: S3Server;
  let bucket: string;
  let storage: BlobStorage;
  beforeAll(async () => {
    for (const [variable, value] of Object.entries(s3Environment)) vi.stubEnv(variable, value);
    server = await startS3Server(name);
    bucket = await server.newBucket();
    const settings = { OUTRIDER_BLOBS: `s3://${bucket}/x`, OUTRIDER_S3_ENDPOINT: server.endpoint };
    storage = await openStorage(readConfig({}, settings).blobs);
  }, 20 * 60_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server?.close();
  });

  testStorage(name, () => ({
    storage,
    countUploads: async () =>
      (await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads?.length ?? 0,
  }));

  test("aborts abandoned multipart uploads", async () => {
    const Key = `x/${relativePath("a".repeat(64))}`;
    const { UploadId } = await server.client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
    const part = { Bucket: bucket, Key, UploadId, PartNumber: 1, Body: "begun" };
    await server.client.send(new UploadPartCommand(part));
    expect(await storage.deleteAbandonedUploads(new Date(Date.now() - 60_000))).toBe(0);
    expect(await storage.deleteAbandonedUploads(new Date(Date.now() + 60_000))).toBe(1);
    expect(await storage.deleteAbandonedUploads(new Date(Date.now() + 60_000))).toBe(0);
  });

  test("names its owner once", async () => {
    expect(await storage.claim?.("first")).toBe("first");
    expect(await storage.claim?.("second")).toBe("first");
  });

  test("accepts direct uploads of exactly one content", async () => {
    const content = Buffer.from("direct");
    const target = await storage.presignUpload?.(hashOf(content), content.length);
    if (!target) throw new Error("no direct uploads");
    const { "content-length": _, ...headers } = target.headers;
    const upload = async (body: Buffer) => (await fetch(target.url, { method: "PUT", headers, body })).status;
    expect(await upload(Buffer.from("Direct"))).toBeGreaterThan(399);
    expect(await upload(Buffer.from("longer than that"))).toBeGreaterThan(399);
    expect(await storage.stat(hashOf(content))).toBeUndefined();
    expect(await upload(content)).toBe(200);
    expect(await upload(content)).toBe(412);
    await storage.put(hashOf(content), streamOf(content));
    const url = await storage.presignDownload?.(hashOf(content));
    expect(await (await fetch(url as string)).text()).toBe("direct");
  });
});

/** MinIO has a key management, so it encrypts the objects that ask for it. */
describe("encryption", () => {
  let server: S3Server;
  beforeAll(async () => {
    for (const [variable, value] of Object.entries(s3Environment)) vi.stubEnv(variable, value);
    server = await startS3Server("minio");
  }, 20 * 60_000);
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server?.close();
  });

  /** Returns whether a file of the server contains the text. */
  const containsText = (text: string) =>
    readdirSync(server.folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(server.folder, name))
      .some((path) => statSync(path).isFile() && readFileSync(path).includes(text));

  test.each([
    ["", undefined],
    ["AES256", { ServerSideEncryption: "AES256" }],
    ["aws:kms", { ServerSideEncryption: "aws:kms" }],
    [
      `aws:kms:${s3KmsKey}`,
      { ServerSideEncryption: "aws:kms", SSEKMSKeyId: expect.stringContaining(s3KmsKey) },
    ],
  ])("%s applies to small, large and direct uploads", async (OUTRIDER_S3_ENCRYPTION, expected) => {
    const Bucket = await server.newBucket();
    const storage = await openStorage(
      readConfig(
        {},
        {
          OUTRIDER_BLOBS: `s3://${Bucket}`,
          OUTRIDER_S3_ENDPOINT: server.endpoint,
          ...(OUTRIDER_S3_ENCRYPTION ? { OUTRIDER_S3_ENCRYPTION } : {}),
        },
      ).blobs,
    );
    const marker = `readable with "${OUTRIDER_S3_ENCRYPTION}"`;
    const contents = [Buffer.from(`small ${marker}`), Buffer.alloc(9 * 2 ** 20, `large ${marker}`)];
    for (const content of contents) await storage.put(hashOf(content), streamOf(content));
    const direct = Buffer.from(`direct ${marker}`);
    const target = await storage.presignUpload?.(hashOf(direct), direct.length);
    const { "content-length": _, ...headers } = target?.headers ?? {};
    const send = (headers: Record<string, string>) =>
      fetch(target?.url as string, { method: "PUT", headers, body: direct });
    if (expected) {
      const { "x-amz-server-side-encryption": _, ...others } = headers;
      expect((await send(others)).ok).toBe(false);
    }
    expect((await send(headers)).status).toBe(200);
    for (const content of [...contents, direct]) {
      const Key = relativePath(hashOf(content));
      const found = await server.client.send(new HeadObjectCommand({ Bucket, Key }));
      if (expected) expect(found).toMatchObject(expected);
      else expect(found.ServerSideEncryption).toBeUndefined();
      const blob = await storage.open(hashOf(content));
      expect(blob && (await buffer(blob.content)).equals(content)).toBe(true);
      const url = (await storage.presignDownload?.(hashOf(content))) as string;
      expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true);
    }
    expect(containsText(marker)).toBe(!expected);
  });
});
