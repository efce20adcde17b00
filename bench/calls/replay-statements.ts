import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import {
  type Db,
  openDb,
  type PostgresConnection,
  type Sql,
} from "../../packages/server/src/store/connection/db.ts";
import { answerParent } from "../support/child-process.ts";
import type { Statement, Step } from "../support/record-statements.ts";

/** A recorded text that is replaced in each repetition, by a new id or by the next item of a list. */
export interface Swap {
  recorded: string;
  by: "run id" | "idempotency key" | string[];
}

export interface Replay {
  connection: PostgresConnection;
  /** The application name of the connections. */
  program: string;
  connections: number;
  steps: Step[];
  swaps: Swap[];
  seconds: number;
}

export interface ReplayResult {
  perSecond: number;
  /** All repetitions, including those outside the measured time. */
  done: number;
}

/** The same ramp-up time as in http-load.ts. */
const RAMP_MS = 300;

let db: Db | undefined;

answerParent<Replay>(async ({ connection, program, connections, steps, swaps, seconds }) => {
  db ??= openDb(connection, { connections, applicationName: program });
  const repeat = prepareReplay(db, steps, swaps);
  let done = 0;
  let over = false;
  const caller = async () => {
    for (; !over; done++) await repeat();
  };
  const callers = Promise.all(Array.from({ length: connections }, caller));
  // A failed statement ends the round at once, because `callers` rejects.
  const measure = async () => {
    await sleep(RAMP_MS);
    const [before, start] = [done, performance.now()];
    await sleep(seconds * 1_000);
    over = true;
    return (done - before) / ((performance.now() - start) / 1_000);
  };
  const perSecond = await Promise.race([measure(), callers.then(() => Number.NaN)]);
  await callers;
  const result: ReplayResult = { perSecond, done };
  return result;
});

function prepareReplay(db: Db, steps: Step[], swaps: Swap[]): () => Promise<void> {
  const generators = swaps.map(generatorOf);
  const prepared = steps.map(({ transaction, statements }) => ({
    transaction,
    sends: statements.map((statement) => prepareSend(statement, swaps)),
  }));
  return async () => {
    const replacements = generators.map((generate) => generate());
    for (const { transaction, sends } of prepared) {
      const inOrder = async (sql: Sql) => {
        for (const send of sends) await send(sql, replacements);
      };
      await (transaction ? db.begin(inOrder) : inOrder(db));
    }
  };
}

/** Like the service's own ids, because a row's position in the indexes affects its cost. */
function timeOrderedId(): string {
  const time = Date.now().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

function generatorOf({ by }: Swap): () => string {
  if (by === "run id") return timeOrderedId;
  if (by === "idempotency key") return () => randomUUID();
  let next = 0;
  return () => by[next++ % by.length] as string;
}

/** Does constant work in advance, so that a repetition costs only what the driver costs. */
function prepareSend({ text, values, types }: Statement, swaps: Swap[]) {
  let expected: number | undefined;
  const changes = values.map((value) =>
    swaps.some(({ recorded }) => JSON.stringify(value)?.includes(recorded)),
  );
  const serviceOptions = { prepare: true, simple: false };
  return async (sql: Sql, replacements: string[]) => {
    const given = values.map((value, index) => {
      const current = changes[index] ? substitute(value, swaps, replacements) : value;
      const type = types[index] as number;
      return type === 0 ? current : sql.typed(current as string, type);
    });
    const { count } = await sql.unsafe(text, given as postgres.ParameterOrJSON<never>[], serviceOptions);
    // A statement that finds nothing would be fast, but not a valid baseline.
    expected ??= count;
    if (count === 0 || count !== expected) throw new Error(`${count} rows instead of ${expected}: ${text}`);
  };
}

function substitute(value: unknown, swaps: Swap[], replacements: string[]): unknown {
  if (typeof value === "string") {
    return swaps.reduce(
      (text, { recorded }, index) => text.replaceAll(recorded, replacements[index] as string),
      value,
    );
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, substitute(inner, swaps, replacements)]),
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
