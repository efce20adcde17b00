import type { Db } from "../packages/server/src/store/db.ts";
import type { Step } from "./recording.ts";

const SAMPLE_MS = 5;
/** Below this share of what was seen, a statement belongs to the service's housekeeping. */
const SELDOM = 0.01;
/** PostgreSQL shows the first 1,024 bytes of a statement. */
const SHOWN = 1_000;

/**
 * Looks at what PostgreSQL is really asked by one program during `work`, and throws unless it is what was
 * recorded. It guards the comparison: both sides must send the same statements, and nothing else.
 */
export async function requireSameStatements(
  db: Db,
  { program, steps, work }: { program: string; steps: Step[]; work: Promise<unknown> },
) {
  // By who began it and when: a connection that rests shows its last statement again and again.
  const executions = new Map<string, string>();
  let over = false;
  const worked = work.finally(() => {
    over = true;
  });
  worked.catch(() => {});
  const [clock] = await db`select clock_timestamp()::text as now`;
  while (!over) {
    const rows = await db<{ execution: string; query: string }[]>`
      select pid || ' ' || query_start as execution, query from pg_stat_activity
      where application_name = ${program} and query_start > ${clock?.now as string}::text::timestamptz
        and query not like '%pg_catalog.pg_type%' -- what the driver asks on a new connection
      `;
    for (const { execution, query } of rows) executions.set(execution, shown(query));
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  await worked;
  const counts = new Map<string, number>();
  for (const text of executions.values()) counts.set(text, (counts.get(text) ?? 0) + 1);
  const seen = [...counts].filter(([, count]) => count >= executions.size * SELDOM).map(([text]) => text);
  const expected = steps.flatMap(({ transaction, statements }) => [
    ...(transaction ? ["begin", "commit"] : []),
    ...statements.map(({ text }) => shown(text)),
  ]);
  const lacking = expected.find((text) => !seen.includes(text));
  if (lacking !== undefined) throw new Error(`${program} did not send what was recorded: ${lacking}`);
  const foreign = seen.find((text) => !expected.includes(text));
  if (foreign !== undefined) throw new Error(`${program} sent what was not recorded: ${foreign}`);
}

function shown(text: string): string {
  return Buffer.from(text).subarray(0, SHOWN).toString().trim();
}
