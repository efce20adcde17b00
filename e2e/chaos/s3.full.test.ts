import { ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type S3Server, s3Environment, startS3Server } from "../../packages/server/test/blobs/s3-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { runRound } from "./round.ts";

/** Chaos with the files in S3. The S3 server fails as well. */

let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3Server("versitygw");
}, 20 * 60_000);
afterAll(() => s3?.close());

test.each([6, 7, 8])("all invariants hold with files in S3 (seed %i)", async (seed) => {
  const Bucket = await s3.newBucket();
  const bucket = { OUTRIDER_BLOBS: `s3://${Bucket}`, OUTRIDER_S3_ENDPOINT: s3.endpoint };
  const round = runRound(seed, { settings: { ...s3Environment, ...bucket } });
  const isOver = round.then(() => true);
  const countBlobs = async () =>
    ((await s3.client.send(new ListObjectsV2Command({ Bucket }))).Contents?.length ?? 0) - 1;
  for (const count of [0, 3]) {
    const isReached = vi.waitUntil(async () => (await countBlobs()) > count, waitOptions);
    isReached.catch(() => {});
    await Promise.race([isOver, isReached]);
    await s3.pause();
    await s3.resume();
  }
  const { problems, folder } = await round;
  expect(problems, `CHAOS_SEED=${seed} repeats the plan; logs and data are in ${folder}`).toEqual([]);
  expect(await countBlobs()).toBeGreaterThan(0);
  // Small files are stored with one request, so nothing is left of uploads that failed.
  const { Uploads = [] } = await s3.client.send(new ListMultipartUploadsCommand({ Bucket }));
  expect(Uploads).toEqual([]);
});
