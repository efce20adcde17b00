import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { relativePath } from "../../src/blobs/blob-storage.ts";
import { openFolder } from "../../src/blobs/folder.ts";
import { openStorage } from "../../src/blobs/open-storage.ts";
import { readConfig } from "../../src/config.ts";
import { type S3Server, s3Environment, startS3Server } from "./s3-server.ts";
import { hashOf, listAll, streamOf, testStorage } from "./storage-conformance.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-blobs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

testStorage("a folder", () => ({
  storage: openFolder(folder),
  countUploads: async () =>
    readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith(".part")).length,
}));

test("a folder removes what interrupted uploads left, once it is old", async () => {
  const sha256 = hashOf(Buffer.from("whole"));
  const storage = openFolder(folder);
  await storage.put(sha256, streamOf(Buffer.from("whole")));
  const left = join(folder, `${relativePath(sha256)}.x.part`);
  await writeFile(left, "who");
  expect(await storage.deleteAbandonedUploads(new Date(Date.now() - 60_000))).toBe(0);
  await utimes(left, 0, 0);
  expect(await storage.deleteAbandonedUploads(new Date(Date.now() - 60_000))).toBe(1);
});

describe("S3", () => {
  let server: S3Server;
  let bucket: string;
  beforeAll(async () => {
    for (const [name, value] of Object.entries(s3Environment)) vi.stubEnv(name, value);
    server = await startS3Server();
    bucket = await server.newBucket();
    storage = await open();
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await server.close();
  });

  let storage: Awaited<ReturnType<typeof open>>;
  const open = (environment: Record<string, string> = {}) =>
    openStorage(
      readConfig(
        {},
        {
          OUTRIDER_BLOBS: `s3://${bucket}/files/of-runs/`,
          OUTRIDER_S3_ENDPOINT: server.endpoint,
          ...environment,
        },
      ).blobs,
    );
  const uploads = async () =>
    (await server.client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [];

  testStorage("S3", () => ({ storage, countUploads: async () => (await uploads()).length }));

  test("says where it is, and ignores objects that are not blobs", async () => {
    expect(storage.location).toBe(`s3://${bucket}/files/of-runs`);
    const Key = "files/of-runs/readme.txt";
    await server.client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: "mine" }));
    const names = (await listAll(storage)).map(({ sha256 }) => sha256);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{64}$/);
  });

  test("aborts abandoned multipart uploads once they are old, but none of other programs", async () => {
    const begin = async (Key: string) => {
      const { UploadId } = await server.client.send(
        new CreateMultipartUploadCommand({ Bucket: bucket, Key }),
      );
      await server.client.send(
        new UploadPartCommand({ Bucket: bucket, Key, UploadId, PartNumber: 1, Body: "begun" }),
      );
    };
    await begin(`files/of-runs/${relativePath("a".repeat(64))}`);
    await begin("files/other");
    expect(await storage.deleteAbandonedUploads(new Date(Date.now() - 60_000))).toBe(0);
    expect(await storage.deleteAbandonedUploads(new Date(Date.now() + 60_000))).toBe(1);
    expect(await uploads()).toMatchObject([{ Key: "files/other" }]);
  });

  test.each([
    ["AES256", { "x-amz-server-side-encryption": "AES256" }],
    [
      "aws:kms:my-key",
      {
        "x-amz-server-side-encryption": "aws:kms",
        "x-amz-server-side-encryption-aws-kms-key-id": "my-key",
      },
    ],
  ])("asks for the encryption %s with every object", async (OUTRIDER_S3_ENCRYPTION, expected) => {
    const received: { request: string; headers: Record<string, unknown> }[] = [];
    const recorder = createServer((request, response) => {
      const { method = "", url = "", headers } = request;
      const { pathname, searchParams } = new URL(url, "http://recorder");
      const parameters = [...searchParams.keys()].filter((name) => name !== "x-id").sort();
      if (method !== "HEAD") received.push({ request: [method, ...parameters].join(" "), headers });
      const answers: Record<string, string> = {
        uploads: "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>",
        uploadId: "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>",
      };
      const status = method === "HEAD" ? 404 : pathname.endsWith("-probe") ? 400 : 200;
      const answer = method === "POST" ? answers[parameters[0] ?? ""] : "";
      request.resume().on("end", () => response.writeHead(status, { etag: "1" }).end(answer));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void recorder.close());
    await vi.waitUntil(() => recorder.listening);
    const { port } = recorder.address() as AddressInfo;
    const encrypted = await open({
      OUTRIDER_S3_ENCRYPTION,
      OUTRIDER_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    });
    const content = Buffer.from("secret");
    await encrypted.put(hashOf(content), streamOf(content), { size: content.length });
    await encrypted.claim?.("this installation");
    expect(received.map(({ request }) => request)).toEqual(["PUT", "PUT", "GET"]);
    for (const { headers } of received.splice(0).slice(0, 2))
      expect(headers).toMatchObject({ ...expected, "if-none-match": "*" });

    // The whole upload asks for it. S3 rejects parts that ask again.
    const large = Buffer.alloc(9 * 2 ** 20);
    await encrypted.put(hashOf(large), streamOf(large), { size: large.length });
    const upload = "POST uploadId";
    const part = "PUT partNumber uploadId";
    expect(received.map(({ request }) => request)).toEqual(["POST uploads", part, part, upload]);
    const [begin, ...rest] = received.splice(0);
    expect(begin?.headers).toMatchObject(expected);
    for (const { headers } of rest) expect(headers).not.toHaveProperty("x-amz-server-side-encryption");

    const target = await encrypted.presignUpload?.(hashOf(content), content.length);
    expect(received.map(({ request, headers }) => [request, headers])).toEqual([
      ["PUT", expect.objectContaining(expected)], // the check whether the server verifies checksums
    ]);
    expect(target?.headers).toMatchObject(expected);
    const signed = new URL(target?.url as string).searchParams.get("X-Amz-SignedHeaders")?.split(";");
    expect(signed).toEqual(expect.arrayContaining(Object.keys(expected)));
  });

  describe("says what is wrong", () => {
    const explain = async (environment: Record<string, string>) => {
      const other = await open(environment);
      const content = Buffer.from("explained");
      const errors = await Promise.all([
        other.put(hashOf(content), streamOf(content)).catch((error) => error),
        other.open(hashOf(content)).catch((error) => error),
        listAll(other).catch((error) => error),
      ]);
      return errors as { name: string; problem: string; message: string }[];
    };

    test("with the bucket", async () => {
      const [put, , list] = await explain({ OUTRIDER_BLOBS: "s3://no-such-bucket" });
      for (const error of [put, list]) {
        expect(error).toMatchObject({ name: "StorageError", problem: "bucket" });
        expect(error?.message).toContain("The bucket no-such-bucket does not exist");
      }
    });

    test("with the credentials", async () => {
      vi.stubEnv("AWS_SECRET_ACCESS_KEY", "wrong");
      onTestFinished(() => void vi.stubEnv("AWS_SECRET_ACCESS_KEY", s3Environment.AWS_SECRET_ACCESS_KEY));
      for (const error of await explain({})) {
        expect(error).toMatchObject({ name: "StorageError", problem: "credentials" });
        expect(error.message).toContain("Check AWS_ACCESS_KEY_ID");
      }
    });

    test("with the endpoint", async () => {
      for (const error of await explain({ OUTRIDER_S3_ENDPOINT: "http://127.0.0.1:1" })) {
        expect(error).toMatchObject({ name: "StorageError", problem: "unreachable" });
        expect(error.message).toContain("http://127.0.0.1:1 is unreachable");
      }
    });

    test("with the clock", async () => {
      const skewed = createServer((request, response) => {
        const body = "<Error><Code>RequestTimeTooSkewed</Code><Message>too large</Message></Error>";
        request.resume().on("end", () => response.writeHead(403).end(body));
      }).listen(0, "127.0.0.1");
      onTestFinished(() => void skewed.close());
      await vi.waitUntil(() => skewed.listening);
      const { port } = skewed.address() as AddressInfo;
      const other = await open({ OUTRIDER_S3_ENDPOINT: `http://127.0.0.1:${port}` });
      await expect(listAll(other)).rejects.toMatchObject({
        problem: "clock",
        message: expect.stringContaining("Synchronize it"),
      });
    });
  });
});
