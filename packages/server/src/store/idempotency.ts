import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";

export interface IdempotencyScope {
  owner_uid: string;
  method: string;
  path: string;
  key: string;
}

export interface StoredResponse {
  fingerprint: Buffer;
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

/**
 * Claims an idempotency key for this transaction and returns whether it was free. A second caller waits on the unique
 * index until the first one commits or rolls back. It then gets false if the first caller stored a response, and true
 * otherwise. If it waits longer than the lock timeout (see db.ts), it fails with 55P03.
 */
export async function takeIdempotencyKey(
  tx: Tx,
  scope: IdempotencyScope,
  { fingerprint, hours }: { fingerprint: Buffer; hours: number },
): Promise<boolean> {
  const { owner_uid, method, path, key } = scope;
  const { count } = await tx`
    insert into idempotency_keys as stored (owner_uid, method, path, key, fingerprint)
    values (${owner_uid}, ${method}, ${path}, ${key}, ${fingerprint})
    on conflict (owner_uid, method, path, key) do update
      set fingerprint = excluded.fingerprint, status = null, headers = null, body = null, created_at = outrider_now()
      where stored.created_at <= outrider_now() - make_interval(hours => ${hours})`;
  return count > 0;
}

export async function findStoredResponse(tx: Tx, scope: IdempotencyScope): Promise<StoredResponse> {
  const { owner_uid, method, path, key } = scope;
  const [row] = await tx<StoredResponse[]>`
    select fingerprint, status, headers, body from idempotency_keys
    where owner_uid = ${owner_uid} and method = ${method} and path = ${path} and key = ${key}`;
  return row as StoredResponse;
}

export async function storeResponse(
  tx: Tx,
  scope: IdempotencyScope,
  response: Omit<StoredResponse, "fingerprint">,
): Promise<void> {
  const { owner_uid, method, path, key } = scope;
  await tx`
    update idempotency_keys
    set status = ${response.status}, headers = ${json(tx, response.headers)}, body = ${response.body}
    where owner_uid = ${owner_uid} and method = ${method} and path = ${path} and key = ${key}`;
}

/** Deletes a batch of the oldest expired keys. */
export async function deleteOldIdempotencyKeys(
  sql: Sql,
  { hours, limit }: { hours: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from idempotency_keys where (owner_uid, method, path, key) in (
      select owner_uid, method, path, key from idempotency_keys
      where created_at <= outrider_now() - make_interval(hours => ${hours})
      order by created_at limit ${limit} for update skip locked)`;
  return count;
}
