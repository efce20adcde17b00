import type { Skill } from "@outrider/contract/skill";
import type { Sql } from "./connection/db.ts";

/**
 * Returns the skills in each environment's latest build, or only in those of the given environments. An environment
 * without its own build may use another environment's build with the same content; in that case, its latest run
 * identifies the build.
 */
export async function listSkills(sql: Sql, environmentIds?: string[]): Promise<Skill[]> {
  const rows = await sql<(Omit<Skill, "environments"> & { environment_id: string })[]>`
    select s.name, s.description, s.skill_spec, e.environment_id
    from environments e
    cross join lateral (
      select b.skills from builds b
      where b.state = 'READY' and ((b.environment_id = e.environment_id and b.version = e.version) or b.build_id = (
        select r.build_id from runs r
        where r.environment_id = e.environment_id and r.build_id is not null and r.created_at >= e.updated_at
        order by r.created_at desc limit 1))
      order by b.finished_at desc limit 1
    ) latest
    cross join lateral jsonb_to_recordset(latest.skills) s(name text, description text, skill_spec text)
    where e.deleted_at is null
      ${environmentIds ? sql`and e.environment_id = any(${environmentIds}::uuid[])` : sql``}
    order by s.name, s.skill_spec, e.name, e.environment_id`;
  const bySpec = new Map<string, Skill>();
  for (const { environment_id, ...skill } of rows) {
    const known = bySpec.get(skill.skill_spec) ?? { ...skill, environments: [] };
    known.environments.push(environment_id);
    bySpec.set(skill.skill_spec, known);
  }
  return [...bySpec.values()];
}
