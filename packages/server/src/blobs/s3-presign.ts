import {
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  type S3Client,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import type { DirectUpload, DownloadedFile } from "./blob-storage.ts";

/** A URL is used at once. The time covers slow clocks and retries, not long downloads, which may take longer. */
const EXPIRES_SECONDS = 300;
/** Clients of users follow a redirect at once. The URL may end up in logs and histories, so it is short-lived. */
const USER_EXPIRES_SECONDS = 60;
/** S3 accepts no larger object with one request. */
const MAX_DIRECT_BYTES = 5 * 2 ** 30;

type Target = Pick<PutObjectCommandInput, "Bucket" | "Key" | "ServerSideEncryption" | "SSEKMSKeyId">;

/** Signs a URL with which a worker downloads an object. */
export function presignDownload(client: S3Client, object: Target): Promise<string> {
  const file = { contentType: "application/octet-stream", disposition: "attachment" };
  return signDownload(client, { ...object, ...file, expiresIn: EXPIRES_SECONDS });
}

/** Signs a URL with which a user downloads an object. */
export function presignUserDownload(client: S3Client, object: Target, file: DownloadedFile): Promise<string> {
  return signDownload(client, { ...object, ...file, expiresIn: USER_EXPIRES_SECONDS });
}

/** The signature covers the headers of the response, so a browser never renders the object as a page of the bucket. */
function signDownload(
  client: S3Client,
  { Bucket, Key, contentType, disposition, expiresIn }: Target & DownloadedFile & { expiresIn: number },
): Promise<string> {
  const command = new GetObjectCommand({
    Bucket,
    Key,
    ResponseContentType: contentType,
    ResponseContentDisposition: disposition,
    ResponseCacheControl: "private, no-store",
  });
  return getSignedUrl(client, command, { expiresIn });
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
