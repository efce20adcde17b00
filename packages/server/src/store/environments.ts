import type { CloudEnvironment, EnvironmentRequest } from "@outrider/contract/environment";
import type { Sql } from "./connection/db.ts";
import { json } from "./connection/json.ts";

interface Row {
  environment_id: string;
  name: string;
  config: Omit<EnvironmentRequest, "name">;
  version: number;
  created_at: string;
  updated_at: string;
}

const columns = ["environment_id", "name", "config", "version", "created_at", "updated_at"];

function toEnvironment({ config, ...row }: Row): CloudEnvironment {
  const {
    repos = [],
    setup_commands = [],
    start_commands = [],
    variables = {},
    secrets = [],
    build_secrets = [],
    network = { mode: "none" },
    ...rest
  } = config;
  return {
    ...row,
    ...rest,
    repos,
    setup_commands,
    start_commands,
    variables,
    secrets,
    build_secrets,
    network,
  };
}

export async function insertEnvironment(
  sql: Sql,
  environmentId: string,
  { name, ...config }: EnvironmentRequest,
): Promise<CloudEnvironment> {
  const [row] = await sql<Row[]>`
    insert into environments (environment_id, name, config)
    values (${environmentId}, ${name}, ${json(sql, config)})
    returning ${sql(columns)}`;
  return toEnvironment(row as Row);
}

export async function replaceEnvironment(
  sql: Sql,
  environmentId: string,
  { name, ...config }: EnvironmentRequest,
): Promise<CloudEnvironment | undefined> {
  const [row] = await sql<Row[]>`
    update environments
    set name = ${name}, config = ${json(sql, config)}, version = version + 1,
      updated_at = outrider_now()
    where environment_id = ${environmentId} and deleted_at is null
    returning ${sql(columns)}`;
  return row && toEnvironment(row);
}

export async function findEnvironment(
  sql: Sql,
  environmentId: string,
): Promise<CloudEnvironment | undefined> {
  const [row] = await sql<Row[]>`
    select ${sql(columns)} from environments where environment_id = ${environmentId} and deleted_at is null`;
  return row && toEnvironment(row);
}

/** Returns a run's environment, even if the environment has been deleted. */
export async function findEnvironmentOfRun(
  sql: Sql,
  runId: string,
): Promise<Pick<Row, "environment_id" | "version" | "config"> | undefined> {
  const [row] = await sql<Pick<Row, "environment_id" | "version" | "config">[]>`
    select e.environment_id, e.version, e.config from runs r join environments e using (environment_id)
    where r.run_id = ${runId}`;
  return row;
}

export async function listEnvironments(sql: Sql): Promise<CloudEnvironment[]> {
  const rows = await sql<Row[]>`
    select ${sql(columns)} from environments where deleted_at is null order by name, environment_id`;
  return rows.map(toEnvironment);
}

/** Marks an environment as deleted. The row is kept because runs refer to it. */
export async function deleteEnvironment(sql: Sql, environmentId: string): Promise<boolean> {
  const { count } = await sql`
    update environments set deleted_at = outrider_now() where environment_id = ${environmentId} and deleted_at is null`;
  return count > 0;
}

export async function environmentsUsingSecret(sql: Sql, name: string): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select name from environments where deleted_at is null and (config -> 'secrets' ? ${name}
      or config -> 'build_secrets' ? ${name} or config ->> 'docker_image_secret' = ${name}
      or config @> ${json(sql, { repos: [{ secret: name }] })}
      or config @> ${json(sql, { repos: [{ publish: { signing_secret: name } }] })}) order by name`;
  return rows.map((row) => row.name);
}

/**
 * Returns the environments, including deleted ones, that have one of these repositories. A repository without a URL
 * matches its URL at the default Git host, or `owner/name`.
 */
export async function environmentsWithRepository(
  sql: Sql,
  repositories: string[],
  gitHost: string,
): Promise<string[]> {
  const rows = await sql<{ environment_id: string }[]>`
    select e.environment_id from environments e
    where exists (
      select 1 from jsonb_to_recordset(coalesce(e.config -> 'repos', '[]')) r(url text, owner text, repo text)
      where coalesce(r.url, ${gitHost} || '/' || r.owner || '/' || r.repo || '.git') = any(${repositories}::text[])
        or r.owner || '/' || r.repo = any(${repositories}::text[]))`;
  return rows.map(({ environment_id }) => environment_id);
}
