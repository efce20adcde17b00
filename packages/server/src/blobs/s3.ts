import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import type { S3Settings } from "../config/blobs.ts";
import {
  type BlobStorage,
  type DownloadedFile,
  isHash,
  relativePath,
  StorageError,
  type StoredBlob,
} from "./blob-storage.ts";
import { explainS3Error } from "./s3-errors.ts";
import { presignDownload, presignUpload, presignUserDownload, verifiesChecksums } from "./s3-presign.ts";
import { verifiedContent } from "./verified-content.ts";

/** Content up to this size is stored with one request. S3 accepts at most 10,000 parts, so 80 GB in all. */
const PART_BYTES = 8 * 2 ** 20;
/** Parts of one blob that are sent at the same time. */
const PARTS_AT_ONCE = 2;
/** What an upload holds in memory at most: the parts that are sent, and the next one. */
const UPLOAD_BYTES = PART_BYTES * (PARTS_AT_ONCE + 1);
/** The object that names the installation whose blobs these are. */
const OWNER_FILE = "outrider-installation";
/** An object that should never exist. See `verifiesChecksums`. */
const PROBE_FILE = "outrider-checksum-probe";
/** S3 deletes at most this many objects with one request. */
const DELETE_BATCH = 1_000;
const STATS_AT_ONCE = 20;
const CONNECT_MS = 5_000;
/** A connection without any data for this long is closed. Slow clients pause their downloads, but not for that long. */
const SILENCE_MS = 60_000;
/** Downloads occupy connections for as long as their clients read, and must not block uploads. */
const MAX_SOCKETS = 512;

/** Stores blobs as objects in a bucket of S3, or of a compatible server. */
export function openS3(settings: S3Settings): BlobStorage {
  const { bucket, prefix, encryption, direct, publicEndpoint } = settings;
  const client = openClient(settings);
  // A signature covers the host, so URLs for users are signed by a client of their own, which sends no requests.
  const publicClient = publicEndpoint && openClient({ ...settings, endpoint: publicEndpoint });
  const keyOf = (sha256: string) => `${prefix}${relativePath(sha256)}`;
  const object = (sha256: string) => ({ Bucket: bucket, Key: keyOf(sha256) });
  const encrypted = {
    ...(encryption ? { ServerSideEncryption: encryption.algorithm } : {}),
    ...(encryption?.keyId ? { SSEKMSKeyId: encryption.keyId } : {}),
  };
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw explainS3Error(error, settings);
    }
  };

  async function stat(sha256: string): Promise<StoredBlob | undefined> {
    const found = await explained(unlessMissing(client.send(new HeadObjectCommand(object(sha256)))));
    return found && { sha256, size: found.ContentLength ?? 0, storedAt: found.LastModified ?? new Date(0) };
  }

  let checksumsAreVerified: Promise<boolean> | undefined;
  /** Asks once, and again after a failure. */
  const acceptsDirectUploads = () => {
    checksumsAreVerified ??= verifiesChecksums(client, {
      Bucket: bucket,
      Key: `${prefix}${PROBE_FILE}`,
      ...encrypted,
    });
    checksumsAreVerified.catch(() => {
      checksumsAreVerified = undefined;
    });
    return checksumsAreVerified;
  };

  return {
    location: `s3://${bucket}${prefix ? `/${prefix.slice(0, -1)}` : ""}`,
    bufferBytes: UPLOAD_BYTES,
    stat,

    async claim(owner) {
      const marker = { Bucket: bucket, Key: `${prefix}${OWNER_FILE}` };
      const params = { ...marker, Body: owner, ContentType: "text/plain", IfNoneMatch: "*", ...encrypted };
      await explained(unlessExists(client.send(new PutObjectCommand(params))));
      const { Body } = await explained(client.send(new GetObjectCommand(marker)));
      return (await Body?.transformToString()) ?? "";
    },

    async put(sha256, content, { size, beforeVisible = async () => {} } = {}) {
      const verified = verifiedContent(sha256, beforeVisible);
      if ((size === undefined || size > PART_BYTES) && (await stat(sha256))) {
        await pipeline(content, verified, async (chunks) => {
          for await (const _ of chunks);
        });
        if (await stat(sha256)) return;
        // Garbage collection has deleted it in the meantime. The content is consumed, so the caller must repeat the upload.
        throw new StorageError("busy", `${keyOf(sha256)} was being deleted. Store it again.`);
      }
      // The upload reads `verified` to its end before it sends the request that makes the object visible. If the hash
      // is wrong, the stream fails instead, and the upload deletes the parts that it has sent.
      const upload = new Upload({
        client,
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
        params: {
          ...object(sha256),
          Body: verified,
          ContentType: "application/octet-stream",
          ChecksumAlgorithm: "SHA256",
          // Another server may have stored the same content meanwhile. It is not replaced.
          IfNoneMatch: "*",
          ...encrypted,
        },
      });
      const feeding = pipeline(content, verified);
      feeding.catch(() => {}); // the upload fails with the same error
      try {
        await explained(unlessExists(upload.done()));
      } finally {
        verified.destroy();
      }
    },

    async open(sha256, select) {
      const found = select && (await stat(sha256));
      if (select && !found) return undefined;
      const range = found && select?.(found.size);
      const Range = range && `bytes=${range.start}-${range.end}`;
      const command = new GetObjectCommand({ ...object(sha256), ...(Range ? { Range } : {}) });
      const response = await explained(unlessMissing(client.send(command)));
      if (!response) return undefined;
      const size = found?.size ?? response.ContentLength ?? 0;
      return { content: bodyOf(response), size, ...(range ? { range } : {}) };
    },

    async delete(hashes, { storedBefore } = {}) {
      for (let start = 0; start < hashes.length; start += DELETE_BATCH) {
        const batch = hashes.slice(start, start + DELETE_BATCH);
        const old = storedBefore ? await olderThan(batch, storedBefore) : batch;
        if (old.length === 0) continue;
        const Delete = { Objects: old.map((sha256) => ({ Key: keyOf(sha256) })), Quiet: true };
        const { Errors = [] } = await explained(
          client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete })),
        );
        const failed = Errors.find(({ Code }) => Code !== "NoSuchKey");
        if (failed)
          throw explainS3Error({ name: failed.Code, message: failed.Message, $metadata: {} }, settings);
      }
    },

    async *list(startOfHash = "") {
      const start = startOfHash.length < 2 ? startOfHash : `${startOfHash.slice(0, 2)}/${startOfHash}`;
      const pages = paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix + start });
      try {
        for await (const { Contents = [] } of pages)
          yield Contents.flatMap(({ Key = "", Size = 0, LastModified = new Date(0) }) => {
            const sha256 = Key.slice(Key.lastIndexOf("/") + 1);
            return isHash(sha256) && Key === keyOf(sha256)
              ? [{ sha256, size: Size, storedAt: LastModified }]
              : [];
          });
      } catch (error) {
        throw explainS3Error(error, settings);
      }
    },

    async deleteAbandonedUploads(before) {
      let deleted = 0;
      let markers: Pick<ListMultipartUploadsCommandOutput, "NextKeyMarker" | "NextUploadIdMarker"> = {};
      for (;;) {
        const page: ListMultipartUploadsCommandOutput = await explained(
          client.send(
            new ListMultipartUploadsCommand({
              Bucket: bucket,
              // Without a prefix: MinIO lists no uploads for a prefix, unless it is a whole key.
              KeyMarker: markers.NextKeyMarker,
              UploadIdMarker: markers.NextUploadIdMarker,
            }),
          ),
        );
        for (const { Key = "", UploadId, Initiated } of page.Uploads ?? []) {
          const sha256 = Key.slice(Key.lastIndexOf("/") + 1);
          const isOwn = isHash(sha256) && Key === keyOf(sha256);
          if (!isOwn || !Initiated || Initiated >= before) continue;
          const command = new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId });
          await explained(unlessMissing(client.send(command)));
          deleted += 1;
        }
        if (!page.IsTruncated) return deleted;
        markers = page;
      }
    },

    ...(publicClient
      ? {
          presignUserDownload: (sha256: string, file: DownloadedFile) =>
            explained(presignUserDownload(publicClient, object(sha256), file)),
        }
      : {}),

    ...(direct === "none"
      ? {}
      : {
          presignDownload: (sha256: string) => presignDownload(client, object(sha256)),
          presignUpload: async (sha256: string, size: number) =>
            (await explained(acceptsDirectUploads()))
              ? presignUpload(client, { ...object(sha256), ...encrypted }, { sha256, size })
              : undefined,
        }),
  };

  async function olderThan(hashes: string[], storedBefore: Date): Promise<string[]> {
    const old: string[] = [];
    for (let start = 0; start < hashes.length; start += STATS_AT_ONCE) {
      const found = await Promise.all(hashes.slice(start, start + STATS_AT_ONCE).map(stat));
      old.push(...found.flatMap((blob) => (blob && blob.storedAt < storedBefore ? [blob.sha256] : [])));
    }
    return old;
  }
}

function openClient({ endpoint, region, forcePathStyle }: S3Settings): S3Client {
  // Servers other than Amazon's accept any region, but a request without one cannot be signed.
  const signingRegion = region ?? (endpoint ? "us-east-1" : undefined);
  return new S3Client({
    ...(endpoint ? { endpoint } : {}),
    ...(signingRegion ? { region: signingRegion } : {}),
    forcePathStyle,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
      httpsAgent: { keepAlive: true, maxSockets: MAX_SOCKETS },
    },
  });
}

interface ServiceError {
  name?: string;
  $metadata?: { httpStatusCode?: number };
}

async function unlessMissing<T>(sent: Promise<T>): Promise<T | undefined> {
  try {
    return await sent;
  } catch (error) {
    const { name, $metadata } = error as ServiceError;
    if (name !== "NoSuchBucket" && $metadata?.httpStatusCode === 404) return undefined;
    throw error;
  }
}

/** Resolves if the object exists, because then it has the same content. */
async function unlessExists(sent: Promise<unknown>): Promise<void> {
  try {
    await sent;
  } catch (error) {
    if ((error as ServiceError).$metadata?.httpStatusCode !== 412) throw error;
  }
}

function bodyOf({ Body }: GetObjectCommandOutput): Readable {
  if (Body instanceof Readable) return Body;
  throw new TypeError("The response has no stream.");
}
