import type { Forge, ForgeTest, ForgeType } from "@outrider/contract/forge";
import type { Sql } from "./connection/db.ts";
import { json } from "./connection/json.ts";

/** How a forge is connected, without secrets. */
export type StoredAuth = { type: "token" } | { type: "app"; app_id: number; slug: string; page_url: string };

export interface ForgeRow {
  forge_id: string;
  type: ForgeType;
  host: string;
  url: string;
  api_url: string;
  auth: StoredAuth;
  login: string;
  sealed: Buffer;
  last_test: ForgeTest | null;
  created_at: string;
  updated_at: string;
}

const columns = [
  "forge_id",
  "type",
  "host",
  "url",
  "api_url",
  "auth",
  "login",
  "sealed",
  "last_test",
  "created_at",
  "updated_at",
] as const;

/** Returns a forge as the API shows it. */
export function toForge({ sealed: _, api_url: __, auth, last_test, ...row }: ForgeRow): Forge {
  return {
    ...row,
    auth: auth.type,
    ...(auth.type === "app" ? { install_url: `${auth.page_url}/installations/new` } : {}),
    ...(last_test ? { last_test } : {}),
  };
}

export interface NewForge
  extends Pick<ForgeRow, "type" | "host" | "url" | "api_url" | "auth" | "login" | "sealed"> {
  forge_id: string;
  created_by: string;
}

/** Stores a forge. A forge with the same host keeps its ID and gets the new credential. */
export async function putForge(sql: Sql, forge: NewForge): Promise<ForgeRow> {
  const { forge_id, type, host, url, api_url, auth, login, sealed, created_by } = forge;
  const [row] = await sql<ForgeRow[]>`
    insert into forges (forge_id, type, host, url, api_url, auth, login, sealed, created_by)
    values (${forge_id}, ${type}, ${host}, ${url}, ${api_url}, ${json(sql, auth)}, ${login}, ${sealed}, ${created_by})
    on conflict (host) do update set type = excluded.type, url = excluded.url, api_url = excluded.api_url,
      auth = excluded.auth, login = excluded.login, sealed = excluded.sealed, last_test = null,
      updated_at = outrider_now()
    returning ${sql(columns)}`;
  return row as ForgeRow;
}

export async function listForges(sql: Sql): Promise<ForgeRow[]> {
  return sql<ForgeRow[]>`select ${sql(columns)} from forges order by host`;
}

export async function findForge(sql: Sql, forgeId: string): Promise<ForgeRow | undefined> {
  const [row] = await sql<ForgeRow[]>`select ${sql(columns)} from forges where forge_id = ${forgeId}`;
  return row;
}

export async function findForgesByHost(
  sql: Sql,
  hosts: string[],
): Promise<Pick<ForgeRow, "forge_id" | "type" | "host" | "url">[]> {
  return sql<Pick<ForgeRow, "forge_id" | "type" | "host" | "url">[]>`
    select forge_id, type, host, url from forges where host = any(${hosts}::text[])`;
}

export async function deleteForge(sql: Sql, forgeId: string): Promise<boolean> {
  const rows = await sql`delete from forges where forge_id = ${forgeId} returning 1`;
  return rows.length > 0;
}

export async function recordForgeTest(sql: Sql, forgeId: string, test: ForgeTest): Promise<void> {
  await sql`update forges set last_test = ${json(sql, test)} where forge_id = ${forgeId}`;
}

export interface AppManifestRow {
  manifest_id: string;
  url: string;
  state_hash: Buffer;
}

export async function insertAppManifest(
  sql: Sql,
  manifest: AppManifestRow & { created_by: string; expires_at: string },
): Promise<void> {
  const { manifest_id, url, state_hash, created_by, expires_at } = manifest;
  await sql`delete from forge_app_manifests where expires_at < outrider_now() - interval '1 day'`;
  await sql`
    insert into forge_app_manifests (manifest_id, url, state_hash, created_by, expires_at)
    values (${manifest_id}, ${url}, ${state_hash}, ${created_by}, ${expires_at})`;
}

/** Marks a manifest as used. Returns undefined if it is unknown, expired or used. */
export async function useAppManifest(
  sql: Sql,
  { manifestId, stateHash }: { manifestId: string; stateHash: Buffer },
): Promise<AppManifestRow | undefined> {
  const [row] = await sql<AppManifestRow[]>`
    update forge_app_manifests set used_at = outrider_now()
    where manifest_id = ${manifestId} and state_hash = ${stateHash}
      and used_at is null and expires_at > outrider_now()
    returning manifest_id, url, state_hash`;
  return row;
}

/** Returns the repositories of the environment that a build, a shell or a proposal of this worker uses. */
export async function findHeldRepositories<T>(
  sql: Sql,
  workerId: string,
  holder:
    | { type: "build"; build_id: string; token: string }
    | { type: "shell"; shell_id: string; token: string }
    | { type: "proposal"; proposal_id: string },
): Promise<T[] | undefined> {
  const [row] = await (holder.type === "build"
    ? sql<{ repos: T[] | null }[]>`
        select config -> 'repos' as repos from builds
        where build_id = ${holder.build_id} and token = ${holder.token} and state = 'BUILDING'
          and worker_id = ${workerId}`
    : holder.type === "shell"
      ? sql<{ repos: T[] | null }[]>`
          select e.config -> 'repos' as repos from shells s join environments e using (environment_id)
          where s.shell_id = ${holder.shell_id} and s.token = ${holder.token} and s.state in ('OPENING', 'OPEN')
            and s.worker_id = ${workerId}`
      : sql<{ repos: T[] | null }[]>`
          select jsonb_build_array(repository) as repos from environment_proposals
          where proposal_id = ${holder.proposal_id} and worker_id = ${workerId} and state = 'READING'`);
  return row && (row.repos ?? []);
}
