import type { Build, BuildEvent, BuildSummary, NewBuildEvent } from "@outrider/contract/build";
import type { EnvironmentRequest } from "@outrider/contract/environment";
import type { ResolvedImage } from "@outrider/contract/image";
import type { CheckedOutRepository, RunStatusMessage } from "@outrider/contract/run";
import { DEFAULT_SANDBOX } from "@outrider/contract/sandbox-kind";
import type { BuildOutcome, ReadyBuild } from "@outrider/contract/worker/build";
import { deleteBuildChunks } from "./build-chunks.ts";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { matchesEnvironment, sandboxOf, type WorkerPlace } from "./dispatch/requirements.ts";
import { type LogPage, type LogRange, readLogPage } from "./log-page.ts";
import { omitNulls } from "./runs/runs.ts";

const MAX_LISTED = 100;

function columns(sql: Sql) {
  return sql`build_id, environment_id, version, state, image, repositories, size_bytes::float, status_message,
    created_at, started_at, finished_at`;
}

export async function listBuilds(sql: Sql, environmentId: string): Promise<Build[]> {
  const rows = await sql<Build[]>`
    select ${columns(sql)} from builds where environment_id = ${environmentId}
    order by created_at desc, build_id desc limit ${MAX_LISTED}`;
  return rows.map(omitNulls);
}

export async function findBuild(
  sql: Sql,
  { environmentId, buildId }: { environmentId: string; buildId: string },
): Promise<Build | undefined> {
  const [row] = await sql<Build[]>`
    select ${columns(sql)} from builds where build_id = ${buildId} and environment_id = ${environmentId}`;
  return row && omitNulls(row);
}

/** Returns the latest build of each environment's current version, keyed by environment ID. */
export async function latestBuilds(sql: Sql, environmentIds: string[]): Promise<Map<string, BuildSummary>> {
  const rows = await sql<(BuildSummary & { environment_id: string })[]>`
    select latest.* from environments e cross join lateral (
      select b.environment_id, build_id, b.state, b.version, b.created_at, started_at, finished_at,
        size_bytes::float, status_message
      from builds b where b.environment_id = e.environment_id and b.version = e.version
      order by b.created_at desc limit 1
    ) latest where e.environment_id = any(${environmentIds}::uuid[])`;
  return new Map(rows.map(({ environment_id, ...build }) => [environment_id, omitNulls(build)]));
}

export interface NewBuild {
  build_id: string;
  environment_id: string;
  version: number;
  config: Omit<EnvironmentRequest, "name">;
  key?: string;
  image?: ResolvedImage;
  repositories?: CheckedOutRepository[];
  /** The kind of sandboxes that must make it. Set if it has a key, because the kind is part of the key. */
  sandbox?: string;
  /** The user who requested the build. Absent if a run needs it. */
  requested_by?: string;
}

/** Queues a build. Returns undefined if one with the same key is already queued or in progress. */
export async function insertBuild(tx: Tx, build: NewBuild): Promise<Build | undefined> {
  const { build_id, environment_id, version, config } = build;
  const { key = null, image = null, repositories = null, sandbox = null, requested_by = null } = build;
  const [row] = await tx<Build[]>`
    insert into builds (build_id, environment_id, version, config, key, image, repositories, sandbox, requested_by, state)
    values (${build_id}, ${environment_id}, ${version}, ${json(tx, config)}, ${key},
      ${json(tx, image)}::jsonb, ${json(tx, repositories)}::jsonb, ${sandbox}, ${requested_by}, 'QUEUED')
    on conflict do nothing
    returning ${columns(tx)}`;
  return row && omitNulls(row);
}

/**
 * Serializes the build requests of a user, and those for an environment, until the transaction ends. Every transaction
 * acquires the two locks in the same order.
 */
export async function lockBuildRequests(
  tx: Tx,
  { userUid, environmentId }: { userUid: string; environmentId: string },
): Promise<void> {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`builds of ${userUid}`}, 0))`;
  await tx`select 1 from environments where environment_id = ${environmentId} for no key update`;
}

/** Returns the oldest build of this version of an environment that is queued or in progress. */
export async function findUnfinishedOf(
  sql: Sql,
  { environmentId, version }: { environmentId: string; version: number },
): Promise<Build | undefined> {
  const [row] = await sql<Build[]>`
    select ${columns(sql)} from builds
    where environment_id = ${environmentId} and version = ${version} and state in ('QUEUED', 'BUILDING')
    order by created_at, build_id limit 1`;
  return row && omitNulls(row);
}

/** Returns how many builds that a user requested are queued or in progress. */
export async function countRequested(sql: Sql, userUid: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from builds
    where requested_by = ${userUid} and state in ('QUEUED', 'BUILDING')`;
  return row?.count ?? 0;
}

/** Returns the newest ready build with this key. */
export async function findReady(sql: Sql, key: string): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select build_id, sha256, image, devcontainer, repositories, coalesce(skills, '[]') as skills from builds
    where key = ${key} and state = 'READY'
    order by finished_at desc limit 1`;
  return row && omitNulls(row);
}

/** Returns the newest ready build of a kind of sandboxes for a version of an environment, regardless of its commits. */
export async function findReadyOf(
  sql: Sql,
  { environmentId, version, sandbox }: { environmentId: string; version: number; sandbox: string },
): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select build_id, sha256, image, devcontainer, repositories, coalesce(skills, '[]') as skills from builds
    where environment_id = ${environmentId} and version = ${version} and state = 'READY'
      and coalesce(sandbox, ${DEFAULT_SANDBOX}) = ${sandbox}
    order by created_at desc limit 1`;
  return row && omitNulls(row);
}

export interface UnfinishedBuild {
  build_id: string;
  state: "QUEUED" | "BUILDING";
  is_free: boolean;
}

export async function findUnfinished(sql: Sql, key: string): Promise<UnfinishedBuild | undefined> {
  const [row] = await sql<UnfinishedBuild[]>`
    select build_id, state, state = 'QUEUED' or lease_expires_at <= outrider_now() as is_free from builds
    where key = ${key} and state in ('QUEUED', 'BUILDING')`;
  return row;
}

export interface TakenBuild {
  build_id: string;
  token: string;
  environment_id: string;
  version: number;
  attempt: number;
  config: Omit<EnvironmentRequest, "name">;
}

interface Builder {
  workerId: string;
  leaseMs: number;
}

/**
 * Assigns a build that is queued or whose lease has expired to a worker. With a place, it chooses the oldest of an
 * environment that selects workers of this place. A build that a run needs has a key, and must be made in the run's kind of
 * sandboxes.
 */
export async function takeBuild(
  tx: Tx,
  { workerId, leaseMs }: Builder,
  which: { buildId: string } | { place: WorkerPlace },
): Promise<TakenBuild | undefined> {
  const [row] = await tx<TakenBuild[]>`
    update builds set state = 'BUILDING', worker_id = ${workerId}, sandbox = ${sandboxOf(tx, tx`${workerId}`)}, token = gen_random_uuid(), attempt = attempt + 1,
      report_batch = 0, started_at = coalesce(started_at, outrider_now()),
      lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where build_id = (
      select build_id from builds
      where (state = 'QUEUED' or (state = 'BUILDING' and lease_expires_at <= outrider_now()))
        and ${"buildId" in which ? tx`build_id = ${which.buildId}` : matchesPlace(tx, which.place)}
      order by created_at limit 1 for update skip locked)
    returning build_id, token, environment_id, version, attempt, config`;
  // The chunks of an earlier attempt may not be those of this one.
  if (row) await deleteBuildChunks(tx, row.build_id);
  return row;
}

function matchesPlace(sql: Sql, place: WorkerPlace) {
  const needed = sql`case when builds.key is null then e.config ->> 'sandbox' else coalesce(builds.sandbox, ${DEFAULT_SANDBOX}) end`;
  return matchesEnvironment(sql, place, sql`builds.environment_id`, needed);
}

/** Returns the key of the worker that holds the build's lease. Returns undefined if no worker has ever held it. */
export async function findBuildHolder(
  sql: Sql,
  buildId: string,
): Promise<{ key_id: string | null } | undefined> {
  const [row] = await sql<{ key_id: string | null }[]>`
    select w.key_id from builds b join workers w using (worker_id) where b.build_id = ${buildId}`;
  return row;
}

export interface BuildLease {
  build_id: string;
  report_batch: number;
  needs_image: boolean;
}

/** Locks a build and renews its lease. Returns undefined if the token is not the current lease's. */
export async function lockBuild(
  tx: Tx,
  { buildId, token, leaseMs }: { buildId: string; token: string; leaseMs: number },
): Promise<BuildLease | undefined> {
  const [row] = await tx<BuildLease[]>`
    update builds set lease_expires_at = outrider_now() + ${leaseMs} * interval '1 ms'
    where build_id = ${buildId} and token = ${token} and state = 'BUILDING'
    returning build_id, report_batch, config ?| array['docker_image', 'devcontainer', 'dockerfile'] as needs_image`;
  return row;
}

/** Returns whether this lease has already finished the build, in which case a repeated call has no effect. */
export async function wasFinishedBy(sql: Sql, buildId: string, token: string): Promise<boolean> {
  const rows = await sql`
    select 1 from builds where build_id = ${buildId} and token = ${token} and state in ('READY', 'FAILED')`;
  return rows.length > 0;
}

/** Appends events to the build's log. The caller must hold the build's lock. */
export async function appendBuildEvents(
  tx: Tx,
  { buildId, batch, events }: { buildId: string; batch?: number; events: NewBuildEvent[] },
): Promise<void> {
  const rows = events.map(({ type, data }, index) => ({ type, data, position: index + 1 }));
  await tx`
    with build as (
      update builds set last_seq = last_seq + ${events.length}, report_batch = coalesce(${batch ?? null}, report_batch)
      where build_id = ${buildId} returning last_seq
    )
    insert into build_events (build_id, seq, created_at, type, data)
    select ${buildId}, build.last_seq - ${events.length} + e.position, outrider_now(), e.type, e.data
    from build, jsonb_to_recordset(${json(tx, rows)}) as e(type text, data jsonb, position int)`;
}

export async function listBuildEvents(
  sql: Sql,
  { buildId, ...range }: { buildId: string } & LogRange,
): Promise<LogPage<BuildEvent>> {
  return readLogPage<BuildEvent>(
    sql,
    range,
    ({ after, limit }) => sql`
      select build_id, seq, created_at, type, data from build_events
      where build_id = ${buildId} and seq > ${after} order by seq limit ${limit}`,
  );
}

export async function completeBuild(
  tx: Tx,
  buildId: string,
  outcome: Pick<
    Extract<BuildOutcome, { type: "ready" }>,
    "key" | "sha256" | "size_bytes" | "image" | "devcontainer" | "repositories" | "skills"
  >,
): Promise<void> {
  await tx`
    update builds set state = 'READY', key = ${outcome.key}, sha256 = ${outcome.sha256},
      size_bytes = ${outcome.size_bytes}, image = ${json(tx, outcome.image ?? null)}::jsonb,
      devcontainer = ${json(tx, outcome.devcontainer ?? null)}::jsonb, repositories = ${json(tx, outcome.repositories)},
      skills = ${json(tx, outcome.skills ?? [])}, finished_at = outrider_now(), lease_expires_at = null
    where build_id = ${buildId}`;
}

export async function failBuild(tx: Tx, buildId: string, status_message: RunStatusMessage): Promise<void> {
  await tx`
    update builds set state = 'FAILED', status_message = ${json(tx, status_message)}, finished_at = outrider_now(),
      lease_expires_at = null
    where build_id = ${buildId}`;
  await deleteBuildChunks(tx, buildId);
}

/** Makes the run's current and later turns start from this build. */
export async function pinBuild(tx: Tx, runId: string, buildId: string): Promise<void> {
  await tx`update runs set build_id = ${buildId} where run_id = ${runId}`;
}

/**
 * Returns the kind of sandboxes that the run's files need, because they are a difference from a build. Returns undefined if
 * the worker, or that of the execution, has this kind, or if every kind can open them.
 */
export async function findOtherSandbox(
  sql: Sql,
  { runId, ...by }: { runId: string } & ({ workerId: string } | { executionId: string }),
): Promise<string | undefined> {
  const worker =
    "workerId" in by
      ? sql`${by.workerId}`
      : sql`(select x.worker_id from executions x where x.execution_id = ${by.executionId})`;
  const [row] = await sql<{ sandbox: string }[]>`
    select coalesce(b.sandbox, ${DEFAULT_SANDBOX}) as sandbox from runs r join builds b using (build_id)
    where r.run_id = ${runId} and b.state = 'READY'
      and coalesce(b.sandbox, ${DEFAULT_SANDBOX}) <> ${sandboxOf(sql, worker)}`;
  return row?.sandbox;
}

export async function findBuildOfRun(sql: Sql, runId: string): Promise<ReadyBuild | undefined> {
  const [row] = await sql<ReadyBuild[]>`
    select b.build_id, b.sha256, b.image, b.devcontainer, b.repositories, coalesce(b.skills, '[]') as skills
    from runs r join builds b using (build_id)
    where r.run_id = ${runId} and b.state = 'READY'`;
  return row && omitNulls(row);
}

/** Requeues a build that its worker gave up. This does not count as an attempt. */
export async function requeueBuild(tx: Tx, buildId: string): Promise<void> {
  await tx`
    update builds set state = 'QUEUED', attempt = attempt - 1, token = null, lease_expires_at = null
    where build_id = ${buildId}`;
}

export async function findFailure(sql: Sql, buildId: string): Promise<RunStatusMessage | undefined> {
  const [row] = await sql<{ status_message: RunStatusMessage }[]>`
    select status_message from builds where build_id = ${buildId} and state = 'FAILED'`;
  return row?.status_message;
}
