import type { S3Settings } from "../config/blobs.ts";
import { StorageError, type StorageProblem } from "./blob-storage.ts";

/** What the SDK throws: an error of the service, of the network or of the search for credentials. */
interface SdkError {
  name?: string;
  message?: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
}

const problems: Record<string, StorageProblem> = {
  NoSuchBucket: "bucket",
  InvalidBucketName: "bucket",
  PermanentRedirect: "region",
  AuthorizationHeaderMalformed: "region",
  IllegalLocationConstraintException: "region",
  "Region is missing": "region",
  InvalidAccessKeyId: "credentials",
  SignatureDoesNotMatch: "credentials",
  AccessDenied: "credentials",
  Forbidden: "credentials",
  ExpiredToken: "credentials",
  InvalidToken: "credentials",
  TokenRefreshRequired: "credentials",
  CredentialsProviderError: "credentials",
  RequestTimeTooSkewed: "clock",
  RequestExpired: "clock",
  SlowDown: "busy",
  TooManyRequests: "busy",
  RequestTimeout: "busy",
};

/** Explains an error of the SDK to the operator. Returns other errors unchanged. */
export function explainS3Error(error: unknown, settings: S3Settings): unknown {
  if (error instanceof StorageError || !isSdkError(error)) return error;
  const problem = problemOf(error);
  return new StorageError(problem, sentenceFor(problem, error, settings), error);
}

/** Errors of the caller's own stream, such as a wrong hash or a lost connection, are not errors of the storage. */
function isSdkError(error: unknown): error is SdkError {
  const { $metadata, name, code, message } = (error ?? {}) as SdkError;
  if ($metadata || (name && name in problems) || (message && message in problems)) return true;
  return name === "TimeoutError" || networkCodes.has(code ?? "");
}

const networkCodes = new Set([
  ...["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"],
  ...["EPIPE", "EPROTO", "CERT_HAS_EXPIRED", "DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN"],
  ...["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "ERR_TLS_CERT_ALTNAME_INVALID"],
]);

function problemOf({ name = "", message = "", code = "", $metadata }: SdkError): StorageProblem {
  const known = problems[name] ?? problems[message];
  if (known) return known;
  const status = $metadata?.httpStatusCode;
  if (status === 301) return "region";
  if (status === 401 || status === 403) return "credentials";
  if (status === 429 || (status ?? 0) >= 500) return "busy";
  if (networkCodes.has(code) || name === "TimeoutError") return "unreachable";
  return "other";
}

function sentenceFor(problem: StorageProblem, error: SdkError, settings: S3Settings): string {
  const { bucket, endpoint, region } = settings;
  const where = endpoint ?? "Amazon S3";
  const reason = [error.name === "Error" ? "" : error.name, error.code ?? "", error.message ?? ""]
    .filter(Boolean)
    .join(": ")
    .replace(/\s+/g, " ")
    .slice(0, 300);
  const sentences: Record<StorageProblem, string> = {
    unreachable: `${where} is unreachable. Check OUTRIDER_S3_ENDPOINT, its certificate and the network.`,
    busy: `${where} is overloaded or failing. Requests are repeated.`,
    bucket: `The bucket ${bucket} does not exist at ${where}. Create it, or correct OUTRIDER_BLOBS.`,
    region: `The bucket ${bucket} is not in the region ${region ?? "of AWS_REGION"}. Set OUTRIDER_S3_REGION to the bucket's region.`,
    credentials: `${where} rejects the credentials, or they may not use the bucket ${bucket}. Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the bucket's policy.`,
    clock: `The clock of this machine differs from the clock of ${where}. Synchronize it, for example with NTP.`,
    other: `${where} rejects a request for the bucket ${bucket}.`,
  };
  return `${sentences[problem]} (${reason})`;
}
