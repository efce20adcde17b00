import type { Db } from "../../packages/server/src/store/connection/db.ts";

/*
 * Reads from the log when runs were active. A run becomes active when the transaction that claims it commits, and stops being
 * active when the one that ends it commits. PostgreSQL stores the time of each commit, so nothing can be missed: a claim that
 * was made because another run had ended has a later time.
 */

const changes = (db: Db) => db`
  select r.creator_uid, r.key_id, pg_xact_commit_timestamp(e.xmin) as at, case e.type when 'run.claimed' then 1 else -1 end as change
  from events e join runs r using (run_id) where e.type in ('run.claimed', 'run.succeeded')`;

/** Returns the largest number of runs that were active at the same time: in all, by owner and by key. */
export async function countMostActive(db: Db): Promise<Record<string, number>> {
  const rows = await db<{ name: string; most: number }[]>`
    with changes as (${changes(db)}),
    named as (
      select n.name, c.at, c.change from changes c
      cross join lateral (values ('installation'), (c.creator_uid::text), (c.key_id::text)) n(name)
    ),
    active as (
      select name, sum(change) over (partition by name order by at, change rows unbounded preceding) as count from named
    )
    select name, max(count)::int as most from active group by name`;
  return Object.fromEntries(rows.map(({ name, most }) => [name, most]));
}

interface Wait {
  longestMs: number;
  /** The wait of the last run if the owner had got exactly its share of all claims. */
  fairMs: number;
}

/**
 * Returns the waits of an owner. The speed at which runs were claimed while the owner's runs waited is measured, so the load
 * of the machine does not matter.
 */
export async function listWaits(db: Db): Promise<(uid: string, share: number) => Wait> {
  const rows = await db<{ uid: string; created: number; claimed: number }[]>`
    select r.creator_uid as uid, extract(epoch from r.created_at)::float * 1000 as created,
      extract(epoch from pg_xact_commit_timestamp(e.xmin))::float * 1000 as claimed
    from events e join runs r using (run_id) where e.type = 'run.claimed'`;
  return (uid, share) => {
    const own = rows.filter((row) => row.uid === uid);
    const from = Math.min(...own.map(({ created }) => created));
    const to = Math.max(...own.map(({ claimed }) => claimed));
    const all = rows.filter(({ claimed }) => claimed >= from && claimed <= to).length;
    const longestMs = Math.max(...own.map(({ created, claimed }) => claimed - created));
    return { longestMs, fairMs: (own.length / (share * all)) * (to - from) };
  };
}
