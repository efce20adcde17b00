import { createHash, timingSafeEqual } from "node:crypto";
import { badMember } from "../engine/refusal.ts";
import type { Vault } from "../engine/vault.ts";
import type { RunPosition } from "../store/run-list.ts";

const SIGNATURE = 16;
const RUN_ID = 36;

/** A cursor says where a page ended, and is good only for the query that made it. */
export function writeCursor(vault: Vault, query: object, position: RunPosition): string {
  const body = Buffer.from(position.run_id + position.value);
  return Buffer.concat([signatureOf(vault, query, body), body]).toString("base64url");
}

export function readCursor(vault: Vault, query: object, cursor: string): RunPosition {
  const bytes = Buffer.from(cursor, "base64url");
  const body = bytes.subarray(SIGNATURE);
  const signature = bytes.subarray(0, SIGNATURE);
  const isOurs =
    signature.length === SIGNATURE && timingSafeEqual(signature, signatureOf(vault, query, body));
  if (!isOurs || bytes.toString("base64url") !== cursor) {
    throw badMember(
      "cursor",
      "belongs to another query; begin again without it, or keep filters and order as they were",
    );
  }
  const text = body.toString();
  return { run_id: text.slice(0, RUN_ID), value: text.slice(RUN_ID) };
}

function signatureOf(vault: Vault, query: object, body: Buffer): Buffer {
  const digest = createHash("sha256").update(JSON.stringify(query)).digest();
  return vault.sign(Buffer.concat([digest, body])).subarray(0, SIGNATURE);
}
