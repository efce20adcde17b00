import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { DirectUpload } from "./blob-storage.ts";

/** A URL is used at once. The time covers slow clocks and retries, not long downloads, which may take longer. */
const EXPIRES_SECONDS = 300;
/** S3 accepts no larger object with one request. */
const MAX_DIRECT_BYTES = 5 * 2 ** 30;

type Target = Pick<PutObjectCommandInput, "Bucket" | "Key" | "ServerSideEncryption" | "SSEKMSKeyId">;

/** Signs a URL that downloads an object. A browser never renders it. */
export function presignDownload(client: S3Client, { Bucket, Key }: Target): Promise<string> {
  const command = new GetObjectCommand({
    Bucket,
    Key,
    ResponseContentType: "application/octet-stream",
    ResponseContentDisposition: "attachment",
    ResponseCacheControl: "private, no-store",
  });
  return getSignedUrl(client, command, { expiresIn: EXPIRES_SECONDS });
}

/**
 * Signs a URL that stores an object once, with exactly this size and SHA-256. The signature covers the headers that say
 * so, and S3 rejects any other content.
 */
export async function presignUpload(
  client: S3Client,
  object: Target,
  { sha256, size }: { sha256: string; size: number },
): Promise<DirectUpload | undefined> {
  if (size > MAX_DIRECT_BYTES) return undefined;
  const { ServerSideEncryption, SSEKMSKeyId } = object;
  const checksum = Buffer.from(sha256, "hex").toString("base64");
  const headers: Record<string, string> = {
    "content-length": String(size),
    "content-type": "application/octet-stream",
    "if-none-match": "*",
    "x-amz-checksum-sha256": checksum,
    ...(ServerSideEncryption ? { "x-amz-server-side-encryption": ServerSideEncryption } : {}),
    ...(SSEKMSKeyId ? { "x-amz-server-side-encryption-aws-kms-key-id": SSEKMSKeyId } : {}),
  };
  const command = new PutObjectCommand({
    ...object,
    ContentLength: size,
    ContentType: headers["content-type"],
    IfNoneMatch: "*",
    ChecksumSHA256: checksum,
  });
  const names = new Set(Object.keys(headers));
  const url = await getSignedUrl(client, command, {
    expiresIn: EXPIRES_SECONDS,
    unhoistableHeaders: names,
    signableHeaders: new Set([...names, "host"]),
  });
  return { url, headers };
}

/** Returns whether the server rejects content that does not match its checksum. Some compatible servers ignore it. */
export async function verifiesChecksums(client: S3Client, object: Target): Promise<boolean> {
  const wrong = Buffer.alloc(32).toString("base64");
  try {
    await client.send(new PutObjectCommand({ ...object, Body: "probe", ChecksumSHA256: wrong }));
  } catch (error) {
    const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
    if (status === 400) return true;
    throw error;
  }
  const { Bucket, Key } = object;
  await client.send(new DeleteObjectCommand({ Bucket, Key }));
  return false;
}
