import type { Identity, IdentityRequest } from "@outrider/contract/auth/identity";
import type { Sql, Tx } from "../connection/db.ts";
import { omitNulls } from "../runs/runs.ts";

const columns = [
  "uid",
  "name",
  "description",
  "model_id",
  "reasoning_effort",
  "harness",
  "environment_id",
  "max_concurrent_runs",
  "owner_uid",
  "created_at",
  "updated_at",
];

export async function insertIdentity(
  sql: Sql,
  identity: { uid: string; owner_uid: string } & IdentityRequest,
): Promise<Identity> {
  const {
    uid,
    owner_uid,
    name,
    description = null,
    model_id = null,
    reasoning_effort = null,
    harness = null,
    environment_id = null,
    max_concurrent_runs = null,
  } = identity;
  const [row] = await sql<Identity[]>`
    insert into identities
      (uid, owner_uid, name, description, model_id, reasoning_effort, harness, environment_id, max_concurrent_runs)
    values (${uid}, ${owner_uid}, ${name}, ${description}, ${model_id}, ${reasoning_effort}, ${harness}, ${environment_id},
      ${max_concurrent_runs})
    returning ${sql(columns)}`;
  return omitNulls(row as Identity);
}

export async function replaceIdentity(sql: Sql, uid: string, identity: IdentityRequest): Promise<Identity> {
  const {
    name,
    description = null,
    model_id = null,
    reasoning_effort = null,
    harness = null,
    environment_id = null,
    max_concurrent_runs = null,
  } = identity;
  const [row] = await sql<Identity[]>`
    update identities
    set name = ${name}, description = ${description}, model_id = ${model_id},
      reasoning_effort = ${reasoning_effort}, harness = ${harness}, environment_id = ${environment_id}, max_concurrent_runs = ${max_concurrent_runs},
      updated_at = outrider_now()
    where uid = ${uid}
    returning ${sql(columns)}`;
  return omitNulls(row as Identity);
}

export async function findIdentity(sql: Sql, uid: string): Promise<Identity | undefined> {
  const [row] = await sql<Identity[]>`
    select ${sql(columns)} from identities where uid = ${uid} and deleted_at is null`;
  return row && omitNulls(row);
}

export async function listIdentities(sql: Sql): Promise<Identity[]> {
  const rows = await sql<Identity[]>`
    select ${sql(columns)} from identities where deleted_at is null order by name, uid`;
  return rows.map(omitNulls);
}

/** Marks a cloud agent as deleted and revokes its keys. The row is kept because the agent's runs refer to it. */
export async function deleteIdentity(sql: Sql, uid: string): Promise<void> {
  await sql`update identities set deleted_at = outrider_now() where uid = ${uid}`;
  await sql`update keys set revoked_at = outrider_now() where agent_uid = ${uid} and revoked_at is null`;
}

/** Transfers a deleted user's cloud agents to another user. */
export async function transferIdentities(tx: Tx, ownerUid: string, newOwnerUid: string): Promise<void> {
  await tx`update identities set owner_uid = ${newOwnerUid} where owner_uid = ${ownerUid}`;
}
