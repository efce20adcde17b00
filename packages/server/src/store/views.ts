import type { CreateViewRequest, UpdateViewRequest, View } from "@outrider/contract/view";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { omitNulls } from "./runs/runs.ts";

interface Row extends Omit<View, "owner"> {
  owner_uid: string;
  owner_name: string;
}

function toView({ owner_uid, owner_name, ...row }: Row): View {
  return omitNulls({ ...row, owner: { uid: owner_uid, display_name: owner_name } });
}

function select(sql: Sql) {
  return sql`
    select v.view_id, v.name, v.query, v.sort, v.columns, v.is_shared, v.created_at, v.updated_at,
      v.owner_uid, u.display_name as owner_name
    from views v join users u on u.uid = v.owner_uid`;
}

export async function insertView(
  sql: Sql,
  viewId: string,
  view: CreateViewRequest & { owner_uid: string },
): Promise<void> {
  const { owner_uid, name, query = {}, sort, columns, is_shared = false } = view;
  await sql`
    insert into views (view_id, owner_uid, name, query, sort, columns, is_shared)
    values (${viewId}, ${owner_uid}, ${name}, ${json(sql, query)}, ${json(sql, sort)}::jsonb, ${json(sql, columns)}::jsonb,
      ${is_shared})`;
}

export async function updateView(sql: Sql, viewId: string, change: UpdateViewRequest): Promise<void> {
  const { name = null, query, sort, columns, is_shared = null } = change;
  await sql`
    update views set name = coalesce(${name}, name), query = coalesce(${json(sql, query)}::jsonb, query),
      sort = coalesce(${json(sql, sort)}::jsonb, sort), columns = coalesce(${json(sql, columns)}::jsonb, columns),
      is_shared = coalesce(${is_shared}::boolean, is_shared), updated_at = outrider_now()
    where view_id = ${viewId}`;
}

export async function findView(sql: Sql, viewId: string): Promise<View | undefined> {
  const [row] = await sql<Row[]>`${select(sql)} where v.view_id = ${viewId}`;
  return row && toView(row);
}

/** Returns the views of a user, and those that others share. */
export async function listViews(sql: Sql, uid: string): Promise<View[]> {
  const rows = await sql<Row[]>`
    ${select(sql)} where v.owner_uid = ${uid} or v.is_shared order by lower(v.name), v.view_id`;
  return rows.map(toView);
}

/** Counts a user's views, and locks the user so that concurrent requests cannot exceed a limit. */
export async function countViews(tx: Tx, uid: string): Promise<number> {
  await tx`select 1 from users where uid = ${uid} for no key update`;
  const [row] = await tx<{ count: number }[]>`
    select count(*)::int as count from views where owner_uid = ${uid}`;
  return row?.count ?? 0;
}

export async function deleteView(sql: Sql, viewId: string): Promise<void> {
  await sql`delete from views where view_id = ${viewId}`;
}

/** Deletes a user's private views, and transfers the shared ones to another user. */
export async function transferViews(tx: Tx, ownerUid: string, newOwnerUid: string): Promise<void> {
  await tx`delete from views where owner_uid = ${ownerUid} and not is_shared`;
  await tx`update views set owner_uid = ${newOwnerUid} where owner_uid = ${ownerUid}`;
}
