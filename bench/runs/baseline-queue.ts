import { type Db, openDb, type PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { answerParent } from "../support/child-process.ts";

/**
 * A minimal job queue as a baseline: one table, `skip locked` and NOTIFY. One process creates jobs and another takes
 * them, each with its own connections.
 */
export interface Jobs {
  connection: PostgresConnection;
  /** "complete" takes jobs and then marks them done in a second statement, as a fallible worker must. */
  action: "create" | "take" | "complete";
  count: number;
  /** The number of concurrent callers. */
  callers: number;
}

/** When each job was created or taken, by id. All processes of a machine share the clock. */
export type Times = Map<string, bigint>;

let db: Db | undefined;
const waiters = new Set<() => void>();
const wake = () => {
  for (const waiter of [...waiters]) waiter();
};
/** Set by a notification, so that one that arrives before the wait starts is not lost. */
let isNotified = false;

answerParent<Jobs>(async ({ connection, action, count, callers }) => {
  db ??= await open(connection, action);
  const times: Times = new Map();
  const next = action === "create" ? () => create(db as Db, times) : () => take(db as Db, { times, action });
  let started = 0;
  const caller = async () => {
    while (action === "create" ? started++ < count : times.size < count) await next();
    // Wake the other callers, which would otherwise wait for jobs that never come and prolong the measurement.
    isNotified = true;
    wake();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});

async function open(connection: PostgresConnection, action: Jobs["action"]): Promise<Db> {
  const opened = openDb(connection, { connections: 8, applicationName: "outrider-bench-baseline" });
  if (action !== "create") {
    await opened.listen("bench_jobs", () => {
      isNotified = true;
      wake();
    });
  }
  return opened;
}

async function create(db: Db, times: Times) {
  const payload = { prompt: "SAY: nothing" };
  const id = await db.begin(async (tx) => {
    const [[row]] = await Promise.all([
      tx<{ id: string }[]>`insert into bench_jobs (payload) values (${tx.json(payload)}) returning id`,
      tx`select pg_notify('bench_jobs', '')`,
    ]);
    return row?.id as string;
  });
  times.set(id, process.hrtime.bigint());
}

async function take(db: Db, { times, action }: { times: Times; action: Jobs["action"] }) {
  isNotified = false;
  const [row] = await db<{ id: string }[]>`
    update bench_jobs set taken_at = now() where id = (
      select id from bench_jobs where taken_at is null order by id limit 1 for update skip locked)
    returning id, payload`;
  if (row) {
    if (action === "complete") await db`update bench_jobs set done_at = now() where id = ${row.id}`;
    times.set(row.id, process.hrtime.bigint());
  } else if (!isNotified) {
    await new Promise<void>((resolve) => {
      const awake = () => {
        clearTimeout(timer);
        waiters.delete(awake);
        resolve();
      };
      const timer = setTimeout(awake, 1_000);
      waiters.add(awake);
    });
  }
}
