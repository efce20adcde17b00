import type { WebApp } from "./web-app.ts";

/**
 * Inserts many copies of one run, because creating them through the API would take too long. The highest number is the
 * newest; every fifth run failed, and every fourth has a label.
 */
export async function seedRuns({ db, create }: WebApp, count: number): Promise<void> {
  const first = await create(["SAY: first"], { title: "The first of all" });
  await db.begin(async (tx) => {
    await tx`update runs set created_at = created_at - interval '1 day' where run_id = ${first}`;
    await tx`
      create temporary table seeded on commit drop as
      select n, gen_random_uuid() as run_id, 'Seeded ' || n as title,
        case when n % 5 = 0 then 'FAILED' else 'SUCCEEDED' end as state,
        case when n % 4 = 0 then '{"team": "blue"}'::jsonb end as metadata,
        outrider_now() - (${count} - n + 60) * interval '1 second' as at
      from generate_series(1, ${count}) n`;
    await tx`
      insert into runs
      select (jsonb_populate_record(r, to_jsonb(s) || jsonb_build_object(
        'created_at', s.at, 'updated_at', s.at, 'started_at', s.at, 'finished_at', s.at))).*
      from seeded s, runs r where r.run_id = ${first}`;
    await tx`
      insert into run_search
      select s.run_id, s.title, to_tsvector('simple', s.title), s.metadata from seeded s`;
    await tx`
      insert into run_state
      select (jsonb_populate_record(h, to_jsonb(s) || '{"phase": "done"}')).*
      from seeded s, run_state h where h.run_id = ${first}`;
  });
}
