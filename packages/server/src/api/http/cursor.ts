import { createHash, timingSafeEqual } from "node:crypto";
import { invalidField } from "../../engine/api-error.ts";
import type { Vault } from "../../engine/auth/vault.ts";
import type { RunPosition } from "../../store/runs/run-list.ts";

const SIGNATURE_BYTES = 16;
const RUN_ID_CHARACTERS = 36;
const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Encodes the position where a page ended. The signature covers the query, so other queries reject the cursor. */
export function writeCursor(vault: Vault, query: object, position: RunPosition): string {
  const body = Buffer.from(position.run_id + position.value);
  return Buffer.concat([sign(vault, query, body), body]).toString("base64url");
}

export function readCursor(vault: Vault, query: object, cursor: string): RunPosition {
  const bytes = Buffer.from(cursor, "base64url");
  const body = bytes.subarray(SIGNATURE_BYTES);
  const signature = bytes.subarray(0, SIGNATURE_BYTES);
  const text = body.toString();
  const position = { run_id: text.slice(0, RUN_ID_CHARACTERS), value: text.slice(RUN_ID_CHARACTERS) };
  if (bytes.toString("base64url") !== cursor || !isUuid.test(position.run_id))
    throw invalidField("cursor", "is not a cursor; use `next_cursor` of the previous page");
  if (!timingSafeEqual(signature, sign(vault, query, body))) {
    throw invalidField(
      "cursor",
      "belongs to a different query; omit it, or repeat the query with the same filters and order",
    );
  }
  return position;
}

function sign(vault: Vault, query: object, body: Buffer): Buffer {
  const digest = createHash("sha256").update(JSON.stringify(query)).digest();
  return vault.sign(Buffer.concat([digest, body])).subarray(0, SIGNATURE_BYTES);
}
