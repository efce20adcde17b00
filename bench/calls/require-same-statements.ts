import type { Db } from "../../packages/server/src/store/connection/db.ts";
import type { Step } from "../support/record-statements.ts";

const SAMPLE_MS = 5;
/** Rarer statements belong to the service's background tasks. */
const MIN_SHARE = 0.01;
/** Rate limits, notifications, maintenance and overdue runs are read or sent at most a few times per second, whatever the load. */
const BACKGROUND = "outrider_take_rate_share|pg_notify|from maintenance|'queue' as reason from runs";
/** PostgreSQL shows the first 1,024 bytes of a statement. */
const MAX_BYTES = 1_000;

/**
 * Samples the statements that a program sends to PostgreSQL during `work` and throws unless they match the recorded ones.
 * This validates the comparison: both sides must send the same statements and nothing else.
 */
export async function requireSameStatements(
  db: Db,
  { program, steps, work }: { program: string; steps: Step[]; work: Promise<unknown> },
) {
  // Keyed by process and start time, because an idle connection keeps showing its last statement.
  const executions = new Map<string, string>();
  let isDone = false;
  const worked = work.finally(() => {
    isDone = true;
  });
  worked.catch(() => {});
  const [clock] = await db`select clock_timestamp()::text as now`;
  while (!isDone) {
    const rows = await db<{ execution: string; query: string }[]>`
      select pid || ' ' || query_start as execution, query from pg_stat_activity
      where application_name = ${program} and query_start > ${clock?.now as string}::text::timestamptz
        and query not like '%pg_catalog.pg_type%' -- the driver's own query on a new connection
        and query !~ ${BACKGROUND}
      `;
    for (const { execution, query } of rows) executions.set(execution, truncate(query));
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  }
  await worked;
  const counts = new Map<string, number>();
  for (const text of executions.values()) counts.set(text, (counts.get(text) ?? 0) + 1);
  const seen = [...counts].filter(([, count]) => count >= executions.size * MIN_SHARE).map(([text]) => text);
  const expected = steps.flatMap(({ transaction, statements }) => [
    ...(transaction ? ["begin", "commit"] : []),
    ...statements.map(({ text }) => truncate(text)),
  ]);
  const missing = expected.find((text) => !seen.includes(text));
  if (missing !== undefined) throw new Error(`${program} did not send a recorded statement: ${missing}`);
  const unexpected = seen.find((text) => !expected.includes(text));
  if (unexpected !== undefined) throw new Error(`${program} sent an unrecorded statement: ${unexpected}`);
}

function truncate(text: string): string {
  return Buffer.from(text).subarray(0, MAX_BYTES).toString().trim();
}
