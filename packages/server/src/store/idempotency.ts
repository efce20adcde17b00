import type { Sql, Tx } from "./db.ts";

export interface IdempotencyScope {
  owner_uid: string;
  method: string;
  path: string;
  key: string;
}

export interface StoredAnswer {
  fingerprint: Buffer;
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

/**
 * Takes the key for this transaction. A second caller waits here on the unique index until the first commits (false:
 * the answer stands) or rolls back (true: the key is free again); after the lock timeout of db.ts it fails (55P03).
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

export async function findStoredAnswer(tx: Tx, scope: IdempotencyScope): Promise<StoredAnswer> {
  const { owner_uid, method, path, key } = scope;
  const [row] = await tx<StoredAnswer[]>`
    select fingerprint, status, headers, body from idempotency_keys
    where owner_uid = ${owner_uid} and method = ${method} and path = ${path} and key = ${key}`;
  return row as StoredAnswer;
}

export async function storeAnswer(
  tx: Tx,
  scope: IdempotencyScope,
  answer: Omit<StoredAnswer, "fingerprint">,
): Promise<void> {
  const { owner_uid, method, path, key } = scope;
  await tx`
    update idempotency_keys
    set status = ${answer.status}, headers = ${tx.json(answer.headers)}, body = ${answer.body}
    where owner_uid = ${owner_uid} and method = ${method} and path = ${path} and key = ${key}`;
}

/** The oldest so many that have had their time. */
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
