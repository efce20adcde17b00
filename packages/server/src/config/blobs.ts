import { isAbsolute, join } from "node:path";
import { z } from "zod";

/** Where the files of runs are stored. */
export type BlobSettings = FolderSettings | S3Settings;

export interface FolderSettings {
  type: "folder";
  folder: string;
}

export interface S3Settings {
  type: "s3";
  bucket: string;
  /** Empty, or a path that ends with a slash. */
  prefix: string;
  /** The URL of another server than Amazon's. */
  endpoint?: string;
  /** The URL of the same server for users. Without it, their downloads pass through the server. */
  publicEndpoint?: string;
  region?: string;
  /** Whether the bucket is part of the path instead of the host name. */
  forcePathStyle: boolean;
  encryption?: S3Encryption;
  /** The programs that may transfer files to and from the bucket directly, through URLs that the server signs. */
  direct: (typeof directModes)[number];
}

export interface S3Encryption {
  algorithm: "AES256" | "aws:kms";
  keyId?: string;
}

const directModes = ["none", "workers"] as const;

const endpoint = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .transform((url) => url.replace(/\/+$/, ""))
  .optional();

const boolean = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((text) => text === "true")
  .optional();

const encryption = z
  .string()
  .regex(/^(AES256|aws:kms(:.+)?)$/, { error: "must be AES256, aws:kms or aws:kms:KEY" })
  .transform((text): S3Encryption => {
    if (text === "AES256") return { algorithm: text };
    const keyId = text.slice("aws:kms:".length);
    return { algorithm: "aws:kms", ...(keyId ? { keyId } : {}) };
  })
  .optional();

const direct = z.enum(directModes, { error: "must be none or workers" }).default("workers");

const location = z
  .string()
  .refine((text) => isAbsolute(text) || isBucket(text), {
    error: "must be an absolute path or s3://BUCKET/PREFIX",
  })
  .optional();

const isBucket = (text: string) => /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w./-]*)?$/.test(text);

type Read = <T>(variable: string, type: z.ZodType<T>, value?: string) => T;

/** Reads the storage in `OUTRIDER_BLOBS`, or another one with the same settings. */
export function readBlobs(read: Read, dataDir: string, other?: string): BlobSettings {
  const text = read("OUTRIDER_BLOBS", location, other);
  if (text === undefined) return { type: "folder", folder: join(dataDir, "blobs") };
  if (!isBucket(text)) return { type: "folder", folder: text };
  const [, bucket, path = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(text) as unknown as [string, string, string];
  const trimmed = path.replace(/^\/+|\/+$/g, "");
  const url = read("OUTRIDER_S3_ENDPOINT", endpoint);
  const publicUrl = read("OUTRIDER_S3_PUBLIC_ENDPOINT", endpoint);
  const region = read("OUTRIDER_S3_REGION", z.string().optional());
  const encrypted = read("OUTRIDER_S3_ENCRYPTION", encryption);
  return {
    type: "s3",
    bucket,
    prefix: trimmed ? `${trimmed}/` : "",
    ...(url ? { endpoint: url } : {}),
    ...(publicUrl ? { publicEndpoint: publicUrl } : {}),
    ...(region ? { region } : {}),
    forcePathStyle: read("OUTRIDER_S3_FORCE_PATH_STYLE", boolean) ?? url !== undefined,
    ...(encrypted ? { encryption: encrypted } : {}),
    direct: read("OUTRIDER_S3_DIRECT", direct),
  };
}
