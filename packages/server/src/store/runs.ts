import type { AmbientAgentConfig } from "@outrider/contract/agent-config";
import type { SentFile } from "@outrider/contract/event";
import {
  noUsage,
  type RunCreatorInfo,
  type RunItem,
  type RunLimits,
  type RunSourceType,
  type RunState,
} from "@outrider/contract/run";
import type { Sql, Tx } from "./db.ts";
import { searchWords } from "./search.ts";
import { slots } from "./workers.ts";

export interface NewRun {
  run_id: string;
  title: string;
  prompt: string;
  source: RunSourceType;
  creator: RunCreatorInfo;
  /** Absent where a browser asked that is signed in. */
  key_id?: string | undefined;
  /** The key or the session; limits of keys go by it. */
  credential_id: string;
  agent_config: AmbientAgentConfig & { model_id: string };
  named_by_skill: boolean;
  sealed_config?: Buffer;
  metadata?: Record<string, string>;
  limits?: RunLimits;
  output_schema?: Record<string, unknown>;
  attachments: SentFile[];
  priority: number;
  trace_id: string;
}

/**
 * Writes the run, its head and its first event in one statement, and answers whether as many runs wait already as workers
 * have room for.
 */
export async function insertRun(sql: Sql, run: NewRun, aliveMs: number): Promise<boolean> {
  const { creator, agent_config: config, attachments } = run;
  const files = attachments.length > 0 ? { attachments } : {};
  const created = { title: run.title, prompt: run.prompt, source: run.source, creator, ...files };
  const words = searchWords(`${run.title}\n${run.prompt}\n${config.skill_spec ?? ""}`);
  const [row] = await sql<{ is_full: boolean }[]>`
    with at as materialized (select outrider_now() as now),
    run as (
      insert into runs (
        run_id, title, prompt, state, created_at, updated_at, source, creator_type, creator_uid, key_id,
        config_name, named_by_skill, model_id, environment_id, skill_spec, agent_config, sealed_config,
        metadata, limits, output_schema, priority, trace_id)
      select
        ${run.run_id}, ${run.title}, ${run.prompt}, 'QUEUED', now, now, ${run.source}, ${creator.type}, ${creator.uid},
        ${run.key_id ?? null}::uuid, ${config.name ?? null}, ${run.named_by_skill}, ${config.model_id}, ${config.environment_id ?? null}::uuid,
        ${config.skill_spec ?? null}, ${sql.json(config)}, ${run.sealed_config ?? null}::bytea,
        ${json(sql, run.metadata)}::jsonb, ${json(sql, run.limits)}::jsonb, ${json(sql, run.output_schema)}::jsonb,
        ${run.priority}, ${run.trace_id}
      from at
    ),
    words as (
      insert into run_words (run_id, title, search, metadata)
      values (${run.run_id}, ${run.title}, array_to_tsvector(${words}::text[]), ${json(sql, run.metadata)}::jsonb)
    ),
    head as (
      insert into run_heads (run_id, state, phase, last_seq, owner_uid, key_id, environment_id, priority, queued_at)
      select ${run.run_id}, 'QUEUED', 'queued', 1, ${creator.uid}, ${run.credential_id}, ${config.environment_id ?? null}::uuid,
        ${run.priority}, now
      from at
    ),
    event as (
      insert into events (run_id, seq, type, created_at, turn, attempt, data)
      select ${run.run_id}, 1, 'run.created', now, 1, 0, ${sql.json(created)} from at
    ),
    ${slots(sql, aliveMs)}
    select free = (
      select count(*) from (select 1 from run_heads where state = 'QUEUED' limit (select free from slots)) waiting
    ) as is_full from slots`;
  return row?.is_full ?? true;
}

/** What only one run shows: its whole prompt, the files sent with it, the schema of its answer. */
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
      (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('artifact_id', f.artifact_id, 'type', f.type, 'name', f.name,
          'mime_type', f.mime_type, 'size_bytes', f.size_bytes, 'is_removed', nullif(f.removed_at is not null, false)))
          order by f.created_at, f.artifact_id)
        from artifacts f where f.run_id = r.run_id) as artifacts,
      (select s.expires_at from shares s where s.run_id = r.run_id and s.expires_at > outrider_now()) as shared_until
    from runs r join run_heads h using (run_id) ${creators(sql)}
    where r.run_id = ${runId}`;
  return row && toRunItem(row);
}

/** What is not named stays as it is. */
export async function changeLimits(tx: Tx, runId: string, limits: RunLimits): Promise<void> {
  await tx`
    update runs set limits = coalesce(limits, '{}') || ${tx.json(limits)}::jsonb where run_id = ${runId}`;
}

export type RunCreator = Pick<RunCreatorInfo, "type" | "uid">;

export async function findRunCreator(sql: Sql, runId: string): Promise<RunCreator | undefined> {
  const [row] = await sql<RunCreator[]>`
    select creator_type as type, creator_uid as uid from runs where run_id = ${runId}`;
  return row;
}

export async function findModelOfRun(sql: Sql, runId: string): Promise<string | undefined> {
  const [row] = await sql<{ model_id: string }[]>`select model_id from runs where run_id = ${runId}`;
  return row?.model_id;
}

export async function deleteRun(tx: Tx, runId: string): Promise<void> {
  await tx`delete from events where run_id = ${runId}`;
  await tx`delete from executions where run_id = ${runId}`;
  await tx`delete from run_words where run_id = ${runId}`;
  await tx`delete from runs where run_id = ${runId}`;
}

/** What is open is few and has an index; what has ended is counted in one, which takes a while where there are millions. */
export async function countOpenRuns(sql: Sql): Promise<{ state: RunState; count: number }[]> {
  return sql`
    select state, count(*)::int as count from run_heads where state in ('QUEUED', 'INPROGRESS', 'BLOCKED') group by state`;
}

export async function countEndedRuns(sql: Sql): Promise<{ state: RunState; count: number }[]> {
  return sql`
    select state, (select count(*)::int from runs r where r.state = s.state) as count
    from unnest(array['SUCCEEDED', 'FAILED', 'CANCELLED']) s(state)`;
}

export interface Removed {
  events_removed_at: string | null;
  files_removed_at: string | null;
}

/** What retention has taken from a run. */
export async function findRemoved(sql: Sql, runId: string): Promise<Removed | undefined> {
  const [row] = await sql<Removed[]>`
    select events_removed_at, files_removed_at from runs where run_id = ${runId}`;
  return row;
}

export function columns(sql: Sql) {
  return sql`
    r.run_id, r.title, r.state, h.phase, r.created_at, r.updated_at, r.started_at, r.finished_at, r.source,
    r.creator_type, r.creator_uid, coalesce(p.display_name, i.name) as creator_name, p.email as creator_email,
    r.agent_config, r.status_message, r.metadata, r.limits, r.priority, h.turn as turns, h.attempt as attempts,
    r.session_id, r.events_removed_at, r.files_removed_at, h.usage, h.execution_id is not null or coalesce(h.kept_until > outrider_now(), false) as is_sandbox_running`;
}

function milliseconds(sql: Sql, from: string, to: string) {
  return sql`round(extract(epoch from ${sql.unsafe(to)} - ${sql.unsafe(from)}) * 1000)`;
}

export function creators(sql: Sql) {
  return sql`left join people p on p.uid = r.creator_uid left join identities i on i.uid = r.creator_uid`;
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
      ? present({ events: events_removed_at, files: files_removed_at })
      : null;
  return present({
    ...rest,
    removed,
    creator: present(creator),
    usage: rest.usage ?? noUsage,
    share,
  }) as unknown as RunItem;
}

/** A member without a value is absent on the wire, never null. */
export function present<T extends object>(row: T): T {
  for (const [member, value] of Object.entries(row)) {
    if (value === null || value === undefined) delete row[member as keyof T];
  }
  return row;
}

function json(sql: Sql, value: object | undefined) {
  return value === undefined ? null : sql.json(value as Parameters<typeof sql.json>[0]);
}
