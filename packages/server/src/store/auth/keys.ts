import type { ReasoningEffort } from "@outrider/contract/agent-config";
import type { Key, KeyLimits, KeyType, Scope } from "@outrider/contract/auth/key";
import type { Role } from "@outrider/contract/auth/user";
import type { Sql, Tx } from "../connection/db.ts";
import { json } from "../connection/json.ts";
import { omitNulls } from "../runs/runs.ts";

export interface NewKey {
  key_id: string;
  hash: Buffer;
  prefix: string;
  type: KeyType;
  name: string;
  user_uid: string;
  agent_uid?: string | undefined;
  scopes: Scope[];
  limits?: KeyLimits | undefined;
  expires_at?: string | undefined;
  /** True for keys of workers that the server starts itself. */
  is_local?: boolean;
}

export async function insertKey(sql: Sql, key: NewKey): Promise<Key> {
  const [row] = await sql<Key[]>`
    insert into keys (key_id, hash, prefix, type, name, user_uid, agent_uid, scopes, limits, expires_at,
      is_local)
    values (${key.key_id}, ${key.hash}, ${key.prefix}, ${key.type}, ${key.name}, ${key.user_uid},
      ${key.agent_uid ?? null}, ${key.scopes}, ${json(sql, key.limits)}, ${key.expires_at ?? null},
      ${key.is_local ?? false})
    returning ${columns(sql)}`;
  return omitNulls(row as Key);
}

/** A valid key, with everything that request handling needs to know about its owner. */
export interface KeyOwner {
  key_id: string;
  key_name: string;
  key_type: KeyType;
  scopes: Scope[];
  limits: KeyLimits | null;
  expires_at: string | null;
  user_uid: string;
  user_name: string;
  email: string;
  role: Role;
  agent_uid: string | null;
  agent_name: string | null;
  agent_model_id: string | null;
  agent_reasoning_effort: ReasoningEffort | null;
  agent_harness: string | null;
  agent_environment_id: string | null;
}

export async function findKeyOwner(sql: Sql, hash: Buffer): Promise<KeyOwner | undefined> {
  const [row] = await sql<KeyOwner[]>`select ${ownerColumns(sql)} ${validKeys(sql)} and k.hash = ${hash}`;
  return row;
}

/** Returns the owners of several keys. Keys that are not valid are omitted. */
export async function findKeyOwners(sql: Sql, hashes: Buffer[]): Promise<(KeyOwner & { hash: Buffer })[]> {
  // The driver cannot send an array of byte strings.
  const encoded = hashes.map((hash) => hash.toString("hex"));
  return sql<(KeyOwner & { hash: Buffer })[]>`
    select k.hash, ${ownerColumns(sql)} ${validKeys(sql)}
      and k.hash = any(array(select decode(hash, 'hex') from unnest(${encoded}::text[]) as hash))`;
}

function ownerColumns(sql: Sql) {
  return sql`
    k.key_id, k.name as key_name, k.type as key_type, k.scopes, k.limits, k.expires_at,
    p.uid as user_uid, p.display_name as user_name, p.email, p.role,
    i.uid as agent_uid, i.name as agent_name, i.model_id as agent_model_id,
    i.reasoning_effort as agent_reasoning_effort, i.harness as agent_harness, i.environment_id as agent_environment_id`;
}

function validKeys(sql: Sql) {
  return sql`
    from keys k join users p on p.uid = k.user_uid left join identities i on i.uid = k.agent_uid
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > outrider_now()) and p.deleted_at is null`;
}

/** Returns all keys that are not revoked, or only those that the given user is responsible for. */
export async function listKeys(sql: Sql, userUid?: string): Promise<Key[]> {
  const rows = await sql<Key[]>`
    select ${columns(sql)} from keys
    where revoked_at is null ${userUid ? sql`and user_uid = ${userUid}` : sql``}
    order by created_at, key_id`;
  return rows.map(omitNulls);
}

export async function findKey(
  sql: Sql,
  keyId: string,
): Promise<{ key_id: string; user_uid: string } | undefined> {
  const [row] = await sql<{ key_id: string; user_uid: string }[]>`
    select key_id, user_uid from keys where key_id = ${keyId} and revoked_at is null`;
  return row;
}

export async function revokeKey(sql: Sql, keyId: string): Promise<void> {
  await sql`update keys set revoked_at = outrider_now() where key_id = ${keyId} and revoked_at is null`;
}

/**
 * Revokes a user's keys, except local worker keys, which are transferred to another user because no user has ever seen
 * them.
 */
export async function revokeKeysOf(tx: Tx, userUid: string, newOwnerUid: string): Promise<void> {
  await tx`update keys set user_uid = ${newOwnerUid} where user_uid = ${userUid} and is_local`;
  await tx`update keys set revoked_at = outrider_now() where user_uid = ${userUid} and revoked_at is null`;
}

export async function recordKeyUse(sql: Sql, keyIds: string[]): Promise<void> {
  await sql`update keys set last_used_at = outrider_now() where key_id = any(${keyIds}::uuid[])`;
}

function columns(sql: Sql) {
  return sql`
    key_id, name, type, prefix, agent_uid, coalesce(agent_uid, user_uid) as owner_uid, scopes, limits,
    created_at, expires_at, last_used_at`;
}

/**
 * Revokes worker keys with this name that have not been used recently. Others are kept because another server's workers
 * may still be using them.
 */
export async function revokeWorkerKeys(sql: Sql, name: string): Promise<void> {
  await sql`
    update keys set revoked_at = outrider_now()
    where type = 'worker' and name = ${name} and revoked_at is null
      and coalesce(last_used_at, created_at) < outrider_now() - interval '1 hour'`;
}
