import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type BlobStorage, relativePath } from "../../src/blobs/blob-storage.ts";
import { openStorage } from "../../src/blobs/open-storage.ts";
import { readConfig } from "../../src/config.ts";
import { type S3Server, s3Environment, startS3Server } from "./s3-server.ts";
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
