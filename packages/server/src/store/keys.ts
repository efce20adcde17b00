import type { Key, KeyLimits, KeyType, Scope } from "@outrider/contract/key";
import type { Role } from "@outrider/contract/person";
import type { Sql, Tx } from "./db.ts";
import { present } from "./runs.ts";

export interface NewKey {
  key_id: string;
  hash: Buffer;
  prefix: string;
  type: KeyType;
  name: string;
  person_uid: string;
  agent_uid?: string | undefined;
  scopes: Scope[];
  limits?: KeyLimits | undefined;
  expires_at?: string | undefined;
  /** For workers that the server starts itself. */
  is_local?: boolean;
}

export async function insertKey(sql: Sql, key: NewKey): Promise<Key> {
  const [row] = await sql<Key[]>`
    insert into keys (key_id, hash, prefix, type, name, person_uid, agent_uid, scopes, limits, expires_at,
      is_local)
    values (${key.key_id}, ${key.hash}, ${key.prefix}, ${key.type}, ${key.name}, ${key.person_uid},
      ${key.agent_uid ?? null}, ${key.scopes}, ${key.limits ? sql.json(key.limits) : null}, ${key.expires_at ?? null},
      ${key.is_local ?? false})
    returning ${columns(sql)}`;
  return present(row as Key);
}

/** A key that is still good, with everything that a request must know about its owner. */
export interface KeyOwner {
  key_id: string;
  key_name: string;
  key_type: KeyType;
  scopes: Scope[];
  limits: KeyLimits | null;
  expires_at: string | null;
  person_uid: string;
  person_name: string;
  email: string;
  role: Role;
  agent_uid: string | null;
  agent_name: string | null;
  agent_model_id: string | null;
  agent_environment_id: string | null;
}

export async function findKeyOwner(sql: Sql, hash: Buffer): Promise<KeyOwner | undefined> {
  const [row] = await sql<KeyOwner[]>`
    select k.key_id, k.name as key_name, k.type as key_type, k.scopes, k.limits, k.expires_at,
      p.uid as person_uid, p.display_name as person_name, p.email, p.role,
      i.uid as agent_uid, i.name as agent_name, i.model_id as agent_model_id, i.environment_id as agent_environment_id
    from keys k join people p on p.uid = k.person_uid left join identities i on i.uid = k.agent_uid
    where k.hash = ${hash} and k.revoked_at is null and (k.expires_at is null or k.expires_at > outrider_now())
      and p.deleted_at is null`;
  return row;
}

/** All keys that are not revoked, or those that one person answers for. */
export async function listKeys(sql: Sql, personUid?: string): Promise<Key[]> {
  const rows = await sql<Key[]>`
    select ${columns(sql)} from keys
    where revoked_at is null ${personUid ? sql`and person_uid = ${personUid}` : sql``}
    order by created_at, key_id`;
  return rows.map(present);
}

export async function findKey(
  sql: Sql,
  keyId: string,
): Promise<{ key_id: string; person_uid: string } | undefined> {
  const [row] = await sql<{ key_id: string; person_uid: string }[]>`
    select key_id, person_uid from keys where key_id = ${keyId} and revoked_at is null`;
  return row;
}

export async function revokeKey(sql: Sql, keyId: string): Promise<void> {
  await sql`update keys set revoked_at = outrider_now() where key_id = ${keyId} and revoked_at is null`;
}

/** All that a person has made or may know. Keys that only a server knows go on, in the name of somebody else. */
export async function revokeKeysOf(tx: Tx, personUid: string, heirUid: string): Promise<void> {
  await tx`update keys set person_uid = ${heirUid} where person_uid = ${personUid} and is_local`;
  await tx`update keys set revoked_at = outrider_now() where person_uid = ${personUid} and revoked_at is null`;
}

export async function noteKeyUse(sql: Sql, keyIds: string[]): Promise<void> {
  await sql`update keys set last_used_at = outrider_now() where key_id = any(${keyIds}::uuid[])`;
}

function columns(sql: Sql) {
  return sql`
    key_id, name, type, prefix, agent_uid, coalesce(agent_uid, person_uid) as owner_uid, scopes, limits,
    created_at, expires_at, last_used_at`;
}

/** Those that nobody has used for a while: another server's workers may still go by the same name. */
export async function revokeWorkerKeys(sql: Sql, name: string): Promise<void> {
  await sql`
    update keys set revoked_at = outrider_now()
    where type = 'worker' and name = ${name} and revoked_at is null
      and coalesce(last_used_at, created_at) < outrider_now() - interval '1 hour'`;
}
