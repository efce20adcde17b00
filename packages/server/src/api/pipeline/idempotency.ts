import { createHash } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import { ApiError, invalidField } from "../../engine/api-error.ts";
import { type Db, isLockTimeout, type Tx } from "../../store/connection/db.ts";
import {
  findStoredResponse,
  type IdempotencyScope,
  storeResponse,
  takeIdempotencyKey,
} from "../../store/idempotency.ts";
import type { HttpResponse } from "./response.ts";

export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const isValid =
    typeof header === "string" &&
    /^[!-~]+$/.test(header) &&
    header.length <= limits.idempotency.keyCharacters;
  if (!isValid) {
    throw invalidField(
      "Idempotency-Key",
      `must be 1 to ${limits.idempotency.keyCharacters} visible ASCII characters`,
    );
  }
  return header;
}

interface IdempotentRequest {
  scope: IdempotencyScope;
  /** The parsed JSON body, or undefined without one. */
  body: unknown;
  work(tx: Tx): Promise<HttpResponse>;
  /** Converts an error from `work` to a response. */
  responseTo(error: unknown): HttpResponse;
}

/**
 * Executes a request at most once per idempotency key.
 *
 * The key, the effect and the response commit in one transaction, so no request is ever stored as "in progress": a crash
 * leaves either all three or none. If the work fails, its effect is rolled back and the error response is stored in a
 * second transaction, unless another request with this key may succeed: a corrected one (400 and 413) or the same one
 * later (429 and 5xx).
 */
export async function withIdempotency(
  db: Db,
  { scope, body, work, responseTo }: IdempotentRequest,
): Promise<HttpResponse> {
  const fingerprint = createHash("sha256")
    .update(canonicalJson(body ?? {}))
    .digest();
  const attempt = (perform: (tx: Tx) => Promise<HttpResponse>) =>
    db.begin(async (tx) => {
      if (!(await claimKey(tx, scope, fingerprint))) return replay(tx, scope, fingerprint);
      const response = await perform(tx);
      const { status, headers } = response;
      await storeResponse(tx, scope, { status, headers, body: response.replayBody ?? response.body ?? null });
      return response;
    });
  let rejection: HttpResponse | undefined;
  try {
    return await attempt((tx) =>
      work(tx).catch((error) => {
        rejection = responseTo(error);
        throw error;
      }),
    );
  } catch (error) {
    if (!rejection) throw error;
    const { status } = rejection;
    const isStored = status < 500 && ![400, 413, 429].includes(status);
    return isStored ? attempt(async () => rejection as HttpResponse) : rejection;
  }
}

/** Returns the same text for all JSON texts with the same value, regardless of the order of fields and of spaces. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

async function claimKey(tx: Tx, scope: IdempotencyScope, fingerprint: Buffer): Promise<boolean> {
  try {
    return await takeIdempotencyKey(tx, scope, { fingerprint, hours: limits.idempotency.hours });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new ApiError(
      "idempotency_in_flight",
      "The first request with this `Idempotency-Key` is still in progress.",
    );
  }
}

async function replay(tx: Tx, scope: IdempotencyScope, fingerprint: Buffer): Promise<HttpResponse> {
  const stored = await findStoredResponse(tx, scope);
  if (!stored.fingerprint.equals(fingerprint)) {
    throw new ApiError(
      "idempotency_mismatch",
      "This `Idempotency-Key` was already used with a different body. Use a new key.",
    );
  }
  const headers = { ...stored.headers, "idempotent-replayed": "true" };
  return { status: stored.status, headers, ...(stored.body === null ? {} : { body: stored.body }) };
}
