import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { type Db, openDb, type PostgresConnection, type Sql } from "../packages/server/src/store/db.ts";
import { answerParent } from "./child.ts";
import type { Statement, Step } from "./recording.ts";

/** A text that is another one in each repetition: a new one of its kind, or the next of a list. */
export interface Swap {
  recorded: string;
  by: "run id" | "idempotency key" | string[];
}

export interface Replay {
  connection: PostgresConnection;
  /** The name that PostgreSQL knows the connections by. */
  program: string;
  connections: number;
  steps: Step[];
  swaps: Swap[];
  seconds: number;
}

export interface ReplayResult {
  perSecond: number;
  /** All repetitions, also those outside the measured time. */
  done: number;
}

/** As long as the load takes to get going. */
const RAMP_MS = 300;

let db: Db | undefined;

answerParent<Replay>(async ({ connection, program, connections, steps, swaps, seconds }) => {
  db ??= openDb(connection, { connections, applicationName: program });
  const repeat = preparedReplay(db, steps, swaps);
  let done = 0;
  let over = false;
  const caller = async () => {
    for (; !over; done++) await repeat();
  };
  const callers = Promise.all(Array.from({ length: connections }, caller));
  // A failed statement ends the round at once.
  const measured = async () => {
    await sleep(RAMP_MS);
    const [before, start] = [done, performance.now()];
    await sleep(seconds * 1_000);
    over = true;
    return (done - before) / ((performance.now() - start) / 1_000);
  };
  const perSecond = await Promise.race([measured(), callers.then(() => Number.NaN)]);
  await callers;
  const result: ReplayResult = { perSecond, done };
  return result;
});

function preparedReplay(db: Db, steps: Step[], swaps: Swap[]): () => Promise<void> {
  const draws = swaps.map(drawOf);
  const prepared = steps.map(({ transaction, statements }) => ({
    transaction,
    sends: statements.map((statement) => preparedSend(statement, swaps)),
  }));
  return async () => {
    const drawn = draws.map((draw) => draw());
    for (const { transaction, sends } of prepared) {
      const inOrder = async (sql: Sql) => {
        for (const send of sends) await send(sql, drawn);
      };
      await (transaction ? db.begin(inOrder) : inOrder(db));
    }
  };
}

/** Like the service's own ids: a row's place in the indexes is part of what it costs. */
function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

function drawOf({ by }: Swap): () => string {
  if (by === "run id") return timeOrderedId;
  if (by === "idempotency key") return () => randomUUID();
  let next = 0;
  return () => by[next++ % by.length] as string;
}

/** What stays the same is made ready here: a repetition should cost what the driver costs, not more. */
function preparedSend({ text, values, types }: Statement, swaps: Swap[]) {
  let expected: number | undefined;
  const changes = values.map((value) =>
    swaps.some(({ recorded }) => JSON.stringify(value)?.includes(recorded)),
  );
  const asInTheService = { prepare: true, simple: false };
  return async (sql: Sql, drawn: string[]) => {
    const given = values.map((value, index) => {
      const current = changes[index] ? swapIn(value, swaps, drawn) : value;
      const type = types[index] as number;
      return type === 0 ? current : sql.typed(current as never, type);
    });
    const { count } = await sql.unsafe(text, given as postgres.ParameterOrJSON<never>[], asInTheService);
    // A statement that finds nothing would be fast, and no anchor.
    expected ??= count;
    if (count === 0 || count !== expected)
      throw new Error(`${count} rows instead of ${expected} by: ${text}`);
  };
}

function swapIn(value: unknown, swaps: Swap[], drawn: string[]): unknown {
  if (typeof value === "string") {
    return swaps.reduce(
      (text, { recorded }, index) => text.replaceAll(recorded, drawn[index] as string),
      value,
    );
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, swapIn(inner, swaps, drawn)]),
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
