import type { AmbientAgentConfig } from "@outrider/contract/agent-config";
import { DEFAULT_HARNESS } from "@outrider/contract/default-harness";
import type { SentFile } from "@outrider/contract/event";
import {
  type RunCreatorInfo,
  type RunItem,
  type RunLimits,
  type RunSourceType,
  type RunState,
  zeroUsage,
} from "@outrider/contract/run";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import type { TraceContext } from "@outrider/telemetry/trace-context";
import type { Sql, Tx } from "../connection/db.ts";
import { type GroupedWrite, writeGrouped } from "../connection/grouped-writes.ts";
import { json } from "../connection/json.ts";
import { activeTotal } from "../dispatch/active-runs.ts";
import type { Requirement } from "../dispatch/requirements.ts";
import { slots } from "../dispatch/workers.ts";
import { asJson, pullRequestsColumn } from "../pull-requests.ts";
import { searchWords } from "./search.ts";

export interface NewRun {
  run_id: string;
  title: string;
  prompt: string;
  source: RunSourceType;
  creator: RunCreatorInfo;
  /** Undefined if a browser session created the run. */
  key_id?: string | undefined;
  /** The ID of the key or session. A key's concurrency limit applies to runs with the same ID. */
  credential_id: string;
  agent_config: AmbientAgentConfig & { model_id: string };
  named_by_skill: boolean;
  /** Default: any worker of the default pool that takes runs with the harness. */
  requirement?: Requirement;
  requirement_id?: number | null;
  sealed_config?: Buffer;
  metadata?: Record<string, string>;
  limits?: RunLimits;
  output_schema?: Record<string, unknown>;
  attachments: SentFile[];
  priority: number;
  trace_id: string;
  /** The span that the spans of the first turn continue. Absent if no traces are exported. */
  trace?: TraceContext | undefined;
}

/**
 * Inserts a run, its state and its first event, in one statement with others that are created at the same time. Returns whether
 * earlier queued runs already need all free slots.
 */
export async function insertRun(sql: Sql, run: NewRun, aliveMs: number): Promise<boolean> {
  return writeGrouped(sql, insertions, { run, aliveMs });
}

interface Insertion {
  run: NewRun;
  aliveMs: number;
}

const insertions: GroupedWrite<Insertion, boolean> = {
  // The free slots are counted once for each group.
  kindOf: ({ run, aliveMs }) => `${aliveMs} ${run.requirement_id ?? 0} ${harnessOf(run) !== null}`,
  async write(sql, items) {
    const [{ run, aliveMs }] = items as [Insertion];
    const needsHarness = harnessOf(run) !== null;
    const requirement = run.requirement ?? { pool: DEFAULT_POOL, selector: {}, needsHarness };
    const [row] = await sql<{ free: number; waiting: number }[]>`
      with clock as materialized (select outrider_now() as now),
      item as materialized (
        select * from jsonb_to_recordset(${json(sql, items.map(toRow))}) as item (
          run_id uuid, title text, prompt text, source text, creator_type text, creator_uid uuid, key_id uuid, credential_id uuid,
          config_name text, named_by_skill boolean, model_id text, environment_id uuid, skill_spec text, agent_config jsonb,
          sealed_config text, metadata jsonb, limits jsonb, output_schema jsonb, priority integer, trace_id text,
          trace_context jsonb, harness text, words text[], created jsonb, requirement_id integer)
      ),
      run as (
        insert into runs (
          run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
          config_name, named_by_skill, model_id, environment_id, skill_spec, agent_config, sealed_config,
          metadata, limits, output_schema, priority, trace_id, trace_context, harness)
        select run_id, title, prompt, 'QUEUED', now, now, source, creator_type, creator_uid, key_id,
          config_name, named_by_skill, model_id, environment_id, skill_spec, agent_config, decode(sealed_config, 'base64'),
          metadata, limits, output_schema, priority, trace_id, trace_context, harness
        from item, clock
      ),
      search as (
        insert into run_search (run_id, title, search, metadata)
        select run_id, title, array_to_tsvector(words), metadata from item
      ),
      state as (
        insert into run_state (run_id, state, phase, last_seq, owner_uid, key_id, environment_id, priority, queued_at,
          needs_harness, requirement_id)
        select run_id, 'QUEUED', 'queued', 1, creator_uid, credential_id, environment_id, priority, now, harness is not null,
          requirement_id
        from item, clock
      ),
      event as (
        insert into events (run_id, seq, type, created_at, turn, attempt, data)
        select run_id, 1, 'run.created', now, 1, 0, created from item, clock
      ),
      ${slots(sql, { aliveMs, requirement })}
      select free, (
        select count(*)::int from (
          select 1 from run_state where state = 'QUEUED' and coalesce(requirement_id, 0) = ${run.requirement_id ?? 0}::int
          limit (select free from slots)) waiting
      ) as waiting from slots`;
    const { free, waiting } = row as { free: number; waiting: number };
    return items.map((_, index) => waiting + index >= free);
  },
};

/** Returns null for the built-in agent. */
function harnessOf({ agent_config: { harness } }: NewRun): string | null {
  return harness === DEFAULT_HARNESS ? null : (harness ?? null);
}

function toRow({ run }: Insertion) {
  const { creator, agent_config: config, attachments, title, prompt, source, sealed_config, trace } = run;
  const files = attachments.length > 0 ? { attachments } : {};
  return {
    run_id: run.run_id,
    title,
    prompt,
    source,
    creator_type: creator.type,
    creator_uid: creator.uid,
    key_id: run.key_id,
    credential_id: run.credential_id,
    config_name: config.name,
    named_by_skill: run.named_by_skill,
    model_id: config.model_id,
    environment_id: config.environment_id,
    skill_spec: config.skill_spec,
    agent_config: config,
    sealed_config: sealed_config?.toString("base64"),
    metadata: run.metadata,
    limits: run.limits,
    output_schema: run.output_schema,
    priority: run.priority,
    trace_id: run.trace_id,
    trace_context: trace && { ...trace, turn: 1 },
    harness: harnessOf(run),
    words: searchWords(`${title}\n${prompt}\n${config.skill_spec ?? ""}`),
    created: { title, prompt, source, creator, ...files },
    requirement_id: run.requirement_id,
  };
}

/** Returns a run, including fields that lists omit, such as the full prompt, attachments and artifacts. */
export async function findRun(sql: Sql, runId: string): Promise<RunItem | undefined> {
  const [row] = await sql`
    select ${columns(sql)}, r.prompt, r.output_schema, r.output, r.receipt,
      jsonb_strip_nulls(jsonb_build_object(
        'queued', ${milliseconds(sql, "h.queued_at", "coalesce(r.started_at, r.finished_at, outrider_now())")},
        'preparing', ${milliseconds(sql, "r.started_at", "coalesce(h.working_at, r.finished_at, outrider_now())")},
        'to_first_output', ${milliseconds(sql, "h.queued_at", "h.first_output_at")},
        'working', ${milliseconds(sql, "h.working_at", "coalesce(r.finished_at, h.blocked_at, outrider_now())")}
      )) as timings,
      (select jsonb_agg(jsonb_build_object('file_name', a.file_name, 'mime_type', a.mime_type,
          'size_bytes', length(a.data)) order by a.position)
        from attachments a where a.run_id = r.run_id and a.followup_id is null) as attachments,
      (select jsonb_agg(f.artifact order by f.created_at, f.artifact_id) from (
        select a.created_at, a.artifact_id, jsonb_strip_nulls(jsonb_build_object('artifact_id', a.artifact_id,
          'artifact_type', a.type, 'created_at', ${timestamp(sql, "a.created_at")}, 'name', a.name,
          'mime_type', a.mime_type, 'size_bytes', a.size_bytes, 'is_removed', nullif(a.removed_at is not null, false))) as artifact
        from artifacts a where a.run_id = r.run_id
        union all
        select q.created_at, q.pull_request_id, jsonb_build_object('artifact_id', q.pull_request_id,
          'artifact_type', 'PULL_REQUEST', 'created_at', ${timestamp(sql, "q.created_at")},
          'name', 'pull-request-' || q.number || '.url', 'mime_type', 'text/uri-list',
          'size_bytes', octet_length(q.url) + 2, 'pull_request', ${asJson(sql)})
        from pull_requests q where q.run_id = r.run_id) f) as artifacts,
      (select s.expires_at from shares s where s.run_id = r.run_id and s.expires_at > outrider_now()) as shared_until
    from runs r join run_state h using (run_id) ${creators(sql)}
    where r.run_id = ${runId}`;
  return row && toRunItem(row);
}

/** Changes the given limits. The others remain the same. */
export async function changeLimits(tx: Tx, runId: string, limits: RunLimits): Promise<void> {
  await tx`
    update runs set limits = coalesce(limits, '{}') || ${json(tx, limits)}::jsonb where run_id = ${runId}`;
}

export type RunCreator = Pick<RunCreatorInfo, "type" | "uid">;

/** The parts of a run that determine who may see it and steer it. They never change. */
export interface RunOwnership {
  creator: RunCreator;
  environment_id?: string | undefined;
}

export async function findRunOwnership(sql: Sql, runId: string): Promise<RunOwnership | undefined> {
  const [row] = await sql<(RunCreator & { environment_id: string | null })[]>`
    select creator_type as type, creator_uid as uid, environment_id from runs where run_id = ${runId}`;
  if (!row) return undefined;
  const { environment_id, ...creator } = row;
  return { creator, ...(environment_id ? { environment_id } : {}) };
}

export interface RunAgent {
  model_id: string;
  /** Null for the built-in agent. */
  harness: string | null;
  has_mcp_servers: boolean;
}

/** Returns what executes a run. It never changes. */
export async function findRunAgent(sql: Sql, runId: string): Promise<RunAgent | undefined> {
  const [row] = await sql<RunAgent[]>`
    select model_id, harness, coalesce(agent_config -> 'mcp_servers', '{}') <> '{}' as has_mcp_servers
    from runs where run_id = ${runId}`;
  return row;
}

export async function deleteRun(tx: Tx, runId: string): Promise<void> {
  await tx`delete from events where run_id = ${runId}`;
  await tx`delete from executions where run_id = ${runId}`;
  await tx`delete from run_search where run_id = ${runId}`;
  await tx`delete from runs where run_id = ${runId}`;
}

/**
 * Counts open runs. An index covers those that wait, and the number of active ones is known; counting millions of ended runs
 * is slow.
 */
export async function countOpenRuns(sql: Sql): Promise<{ state: RunState; count: number }[]> {
  return sql`
    select state, count(*)::int as count from run_state where state in ('QUEUED', 'BLOCKED') group by state
    union all
    select 'INPROGRESS', ${activeTotal(sql)}`;
}

export async function countEndedRuns(sql: Sql): Promise<{ state: RunState; count: number }[]> {
  return sql`
    select state, (select count(*)::int from runs r where r.state = s.state) as count
    from unnest(array['SUCCEEDED', 'FAILED', 'CANCELLED']) s(state)`;
}

export interface RemovedData {
  events_removed_at: string | null;
  files_removed_at: string | null;
}

/** Returns what retention has removed from a run, and when. */
export async function findRemovedData(sql: Sql, runId: string): Promise<RemovedData | undefined> {
  const [row] = await sql<RemovedData[]>`
    select events_removed_at, files_removed_at from runs where run_id = ${runId}`;
  return row;
}

export function columns(sql: Sql) {
  return sql`
    r.run_id, r.title, r.state, h.phase, r.created_at, r.updated_at, r.started_at, r.finished_at, r.source,
    r.creator_type, r.creator_uid, coalesce(p.display_name, i.name) as creator_name, p.email as creator_email,
    r.agent_config, r.status_message, r.metadata, r.limits, r.priority, h.turn as turns, h.attempt as attempts,
    r.session_id, r.events_removed_at, r.files_removed_at, ${pullRequestsColumn(sql)} as pull_requests, h.usage, h.execution_id is not null or coalesce(h.warm_until > outrider_now(), false) as is_sandbox_running`;
}

function milliseconds(sql: Sql, from: string, to: string) {
  return sql`round(extract(epoch from ${sql.unsafe(to)} - ${sql.unsafe(from)}) * 1000)`;
}

/** Formats a time inside of a JSON value as the API does. The driver formats only columns. */
function timestamp(sql: Sql, column: string) {
  return sql`to_char(${sql.unsafe(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

export function creators(sql: Sql) {
  return sql`left join users p on p.uid = r.creator_uid left join identities i on i.uid = r.creator_uid`;
}

export function toRunItem(row: Record<string, unknown>): RunItem {
  const {
    creator_type,
    creator_uid,
    creator_name,
    creator_email,
    shared_until,
    events_removed_at,
    files_removed_at,
    ...rest
  } = row;
  const creator = { type: creator_type, uid: creator_uid, display_name: creator_name, email: creator_email };
  const share = shared_until ? { expires_at: shared_until } : null;
  const removed =
    events_removed_at || files_removed_at
      ? omitNulls({ events: events_removed_at, files: files_removed_at })
      : null;
  return omitNulls({
    ...rest,
    removed,
    creator: omitNulls(creator),
    usage: rest.usage ?? zeroUsage,
    share,
  }) as unknown as RunItem;
}

/** Deletes null and undefined fields in place, because the API omits absent values instead of returning null. */
export function omitNulls<T extends object>(row: T): T {
  for (const [name, value] of Object.entries(row)) {
    if (value === null || value === undefined) delete row[name as keyof T];
  }
  return row;
}
