import { limits } from "@outrider/contract/limits";
import type { RunItem } from "@outrider/contract/run";
import { forceCustomPlan, type Sql } from "../connection/db.ts";
import { daysAgo } from "../retention.ts";
import type { RunFilter } from "./run-list.ts";
import { columns, creators, toRunItem } from "./runs.ts";
import { all } from "./search.ts";

/** One call dismisses at most this many runs, so that it cannot hold its locks for long. */
const MAX_DISMISSED = 10_000;
/** Rows older than this cannot apply any more: blocked runs fail after a week, and failed ones are listed for 14 days. */
const KEPT_DAYS = 60;

/** Whose runs need attention, and from whose list dismissed runs are removed. */
export interface AttentionFilter
  extends Pick<RunFilter, "creator_uid" | "visible_to" | "visible_environments"> {
  uid: string;
}

/**
 * Selects runs in the order of the index `runs_attention`, latest first. The time is a subquery, because an index cannot
 * be searched for the result of a volatile function: all runs that ever failed would be read.
 */
function needAttention(sql: Sql, { uid, ...filter }: AttentionFilter) {
  const creators = [filter.creator_uid?.[0], filter.visible_to].filter((each) => each !== undefined);
  const { visible_environments: environments } = filter;
  return sql`
    from runs r join run_state h using (run_id)
    where r.state in ('BLOCKED', 'FAILED') and ${all(sql, [
      ...creators.map((creator) => sql`r.creator_uid = ${creator}`),
      ...(environments ? [sql`r.environment_id = any(${environments}::uuid[])`] : []),
    ])}
      and coalesce(r.finished_at, r.updated_at) > (select outrider_now() - ${limits.attention.days} * interval '1 day')
      and not exists (
        select 1 from dismissed_runs d
        where d.uid = ${uid} and d.run_id = r.run_id and d.state = r.state and d.turn = h.turn
          and (d.snoozed_until is null or d.snoozed_until > outrider_now()))
      and ${forceCustomPlan(sql)}`;
}

/** Counts up to `limits.attention.count` runs and returns the first ones. */
export async function listAttention(
  sql: Sql,
  filter: AttentionFilter,
  limit: number,
): Promise<{ count: number; hasMore: boolean; runs: RunItem[] }> {
  const max = limits.attention.count;
  const found = await sql<{ run_id: string }[]>`
    select r.run_id ${needAttention(sql, filter)}
    order by coalesce(r.finished_at, r.updated_at) desc, r.run_id desc limit ${max + 1}`;
  const ids = found.slice(0, limit).map(({ run_id }) => run_id);
  const maxPrompt = limits.listedPromptCharacters;
  const rows =
    ids.length === 0
      ? []
      : await sql`
        select ${columns(sql)}, left(r.prompt, ${maxPrompt}) as prompt,
          nullif(char_length(r.prompt) > ${maxPrompt}, false) as prompt_truncated
        from runs r join run_state h using (run_id) ${creators(sql)}
        where r.run_id = any(${ids}::uuid[])
        order by array_position(${ids}::uuid[], r.run_id)`;
  return { count: Math.min(found.length, max), hasMore: found.length > max, runs: rows.map(toRunItem) };
}

/** Dismisses a run in its current state, or snoozes it. Has no effect in a state that needs no attention. */
export async function dismissRun(
  sql: Sql,
  { uid, runId, snoozedUntil = null }: { uid: string; runId: string; snoozedUntil?: string | null },
): Promise<void> {
  await sql`
    insert into dismissed_runs (uid, run_id, state, turn, snoozed_until)
    select ${uid}, h.run_id, h.state, h.turn, ${snoozedUntil}::timestamptz from run_state h
    where h.run_id = ${runId} and h.state in ('BLOCKED', 'FAILED')
    on conflict (uid, run_id) do update set state = excluded.state, turn = excluded.turn,
      snoozed_until = excluded.snoozed_until, created_at = excluded.created_at`;
}

/** Dismisses all runs that need attention, the latest first, and returns their number. */
export async function dismissAll(sql: Sql, filter: AttentionFilter): Promise<number> {
  const { count } = await sql`
    insert into dismissed_runs (uid, run_id, state, turn)
    select ${filter.uid}::uuid, r.run_id, r.state, h.turn ${needAttention(sql, filter)}
    order by coalesce(r.finished_at, r.updated_at) desc, r.run_id desc limit ${MAX_DISMISSED}
    on conflict (uid, run_id) do update set state = excluded.state, turn = excluded.turn,
      snoozed_until = null, created_at = excluded.created_at`;
  return count;
}

export async function restoreRun(sql: Sql, { uid, runId }: { uid: string; runId: string }): Promise<void> {
  await sql`delete from dismissed_runs where uid = ${uid} and run_id = ${runId}`;
}

export async function deleteOldDismissals(sql: Sql): Promise<void> {
  await sql`delete from dismissed_runs where created_at < ${await daysAgo(sql, KEPT_DAYS)}`;
}
