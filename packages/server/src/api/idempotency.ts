import { createHash } from "node:crypto";
import { limits } from "@outrider/contract/limits";
import { badMember, Refusal } from "../engine/refusal.ts";
import { type Db, isLockTimeout, type Tx } from "../store/db.ts";
import {
  findStoredAnswer,
  type IdempotencyScope,
  storeAnswer,
  takeIdempotencyKey,
} from "../store/idempotency.ts";

export interface Outcome {
  status: number;
  headers: Record<string, string>;
  body?: string;
  /** What a replay answers with, where the first answer held something that must not come out twice. */
  replayBody?: string;
}

export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const valid =
    typeof header === "string" &&
    /^[!-~]+$/.test(header) &&
    header.length <= limits.idempotency.keyCharacters;
  if (!valid) {
    throw badMember(
      "Idempotency-Key",
      `must be 1 to ${limits.idempotency.keyCharacters} visible ASCII characters`,
    );
  }
  return header;
}

interface Once {
  scope: IdempotencyScope;
  body: Buffer;
  work(tx: Tx): Promise<Outcome>;
  /** The answer that a failure of `work` stands for. */
  answerTo(error: unknown): Outcome;
}

/**
 * Key row, effect and answer commit in one transaction, so there is no durable "in flight": a crash leaves either all
 * of it or nothing. A refusal undoes its effect and is kept as the answer, unless trying again may help.
 */
export async function once(db: Db, { scope, body, work, answerTo }: Once): Promise<Outcome> {
  const fingerprint = createHash("sha256").update(body).digest();
  const attempt = (perform: (tx: Tx) => Promise<Outcome>) =>
    db.begin(async (tx) => {
      if (!(await take(tx, scope, fingerprint))) return replay(tx, scope, fingerprint);
      const outcome = await perform(tx);
      const { status, headers } = outcome;
      await storeAnswer(tx, scope, { status, headers, body: outcome.replayBody ?? outcome.body ?? null });
      return outcome;
    });
  let refused: Outcome | undefined;
  try {
    return await attempt((tx) =>
      work(tx).catch((error) => {
        refused = answerTo(error);
        throw error;
      }),
    );
  } catch (error) {
    if (!refused) throw error;
    const mayHelpToRetry = refused.status === 429 || refused.status >= 500;
    return mayHelpToRetry ? refused : attempt(async () => refused as Outcome);
  }
}

async function take(tx: Tx, scope: IdempotencyScope, fingerprint: Buffer): Promise<boolean> {
  try {
    return await takeIdempotencyKey(tx, scope, { fingerprint, hours: limits.idempotency.hours });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new Refusal(
      "idempotency_in_flight",
      "The first request with this Idempotency-Key has not ended yet.",
    );
  }
}

async function replay(tx: Tx, scope: IdempotencyScope, fingerprint: Buffer): Promise<Outcome> {
  const stored = await findStoredAnswer(tx, scope);
  if (!stored.fingerprint.equals(fingerprint)) {
    throw new Refusal(
      "idempotency_mismatch",
      "This Idempotency-Key was used with another body. Use a new key.",
    );
  }
  const headers = { ...stored.headers, "idempotent-replayed": "true" };
  return { status: stored.status, headers, ...(stored.body === null ? {} : { body: stored.body }) };
}
