import { type Db, openDb, type PostgresConnection } from "../packages/server/src/store/db.ts";
import { answerParent } from "./child.ts";

/**
 * The plainest queue there is, as somebody would write it who needs nothing more: one table, `skip locked` and NOTIFY.
 * One process makes jobs and another takes them, as a real system has it, each with connections of its own.
 */
export interface Jobs {
  connection: PostgresConnection;
  /** Who does jobs takes them and then marks them done, as one must who may fail in between. */
  does: "make" | "take" | "do";
  count: number;
  /** How many make or take at once. */
  callers: number;
}

/** When each job was made or taken, by its id; the clock is one for all processes of a machine. */
export type Times = Map<string, bigint>;

let db: Db | undefined;
const sleepers = new Set<() => void>();
const wake = () => {
  for (const sleeper of [...sleepers]) sleeper();
};
/** Made, and not heard of yet: a word that comes while nobody listens must not be lost. */
let isCalled = false;

answerParent<Jobs>(async ({ connection, does, count, callers }) => {
  db ??= await open(connection, does);
  const times: Times = new Map();
  const one = does === "make" ? () => make(db as Db, times) : () => take(db as Db, { times, does });
  let begun = 0;
  const caller = async () => {
    while (does === "make" ? begun++ < count : times.size < count) await one();
    // Nobody sleeps on for a job that will not come, nor falls asleep for it: the end would seem later than it was.
    isCalled = true;
    wake();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});

async function open(connection: PostgresConnection, does: Jobs["does"]): Promise<Db> {
  const opened = openDb(connection, { connections: 8, applicationName: "outrider-bench-anchor" });
  if (does !== "make") {
    await opened.listen("bench_jobs", () => {
      isCalled = true;
      wake();
    });
  }
  return opened;
}

async function make(db: Db, times: Times) {
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

async function take(db: Db, { times, does }: { times: Times; does: Jobs["does"] }) {
  isCalled = false;
  const [row] = await db<{ id: string }[]>`
    update bench_jobs set taken_at = now() where id = (
      select id from bench_jobs where taken_at is null order by id limit 1 for update skip locked)
    returning id, payload`;
  if (row) {
    if (does === "do") await db`update bench_jobs set done_at = now() where id = ${row.id}`;
    times.set(row.id, process.hrtime.bigint());
  } else if (!isCalled) {
    await new Promise<void>((resolve) => {
      const awake = () => {
        clearTimeout(timer);
        sleepers.delete(awake);
        resolve();
      };
      const timer = setTimeout(awake, 1_000);
      sleepers.add(awake);
    });
  }
}
