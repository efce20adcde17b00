import type { WebWorld } from "./world.ts";

/**
 * Many runs at once, as copies of one that was really asked for: more than the API could be asked for in a test. The
 * highest number is the newest; every fifth has failed, every fourth has a label.
 */
export async function seedRuns({ db, create }: WebWorld, count: number): Promise<void> {
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
      insert into run_words
      select s.run_id, s.title, to_tsvector('simple', s.title), s.metadata from seeded s`;
    await tx`
      insert into run_heads
      select (jsonb_populate_record(h, to_jsonb(s) || '{"phase": "done"}')).*
      from seeded s, run_heads h where h.run_id = ${first}`;
  });
}
