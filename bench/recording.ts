import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { pino } from "pino";
import { createApp } from "../packages/server/src/api/app.ts";
import type { Services } from "../packages/server/src/api/call.ts";
import { Streams } from "../packages/server/src/api/streams.ts";
import { loadWeb } from "../packages/server/src/api/web.ts";
import { openBlobs } from "../packages/server/src/engine/blobs.ts";
import { openBrake } from "../packages/server/src/engine/brake.ts";
import { Claimants } from "../packages/server/src/engine/claimants.ts";
import { openDeltas } from "../packages/server/src/engine/deltas.ts";
import { openIntake } from "../packages/server/src/engine/intake.ts";
import { openModels } from "../packages/server/src/engine/models.ts";
import { startPulse } from "../packages/server/src/engine/pulse.ts";
import { Rates } from "../packages/server/src/engine/rates.ts";
import { keepAll } from "../packages/server/src/engine/retention.ts";
import { defaultRules } from "../packages/server/src/engine/rules.ts";
import { openSearches } from "../packages/server/src/engine/searches.ts";
import { Tally } from "../packages/server/src/engine/tally.ts";
import { openVault } from "../packages/server/src/engine/vault.ts";
import { openWake } from "../packages/server/src/engine/wake.ts";
import { openWatch } from "../packages/server/src/engine/watch.ts";
import { type Db, openDb, type PostgresConnection } from "../packages/server/src/store/db.ts";

/** One statement as the driver was given it: what it says, its values, and the types that the code named. */
export interface Statement {
  text: string;
  values: unknown[];
  types: number[];
}

/** What is sent one after the other: either one statement by itself, or those of a transaction. */
export interface Step {
  transaction: boolean;
  statements: Statement[];
}

export interface Recorded {
  answer: Record<string, unknown>;
  steps: Step[];
}

export interface Request {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/**
 * Writes down what the service's own code sends to the database for each request. The anchors are made of
 * that, so they cannot fall behind the code, nor leave out what a request costs.
 */
export async function recordRequests(
  connection: PostgresConnection,
  requests: Request[],
): Promise<Recorded[]> {
  await using stack = new AsyncDisposableStack();
  // One connection, so that statements come in order.
  const db = openDb(connection, { connections: 1, applicationName: "outrider-bench-recorder" });
  stack.defer(() => db.end({ timeout: 5 }));
  const log = pino({ level: "silent" });
  const tally = new Tally();
  const voice = { db, open: () => openDb(connection, { connections: 1 }), tally, log };
  const wake = await openWake(voice);
  stack.defer(() => wake.close());
  const watch = openWatch({ db, wake, tally, log });
  stack.defer(() => watch.close());
  const vault = openVault(randomBytes(32));
  const deltas = await openDeltas(voice);
  stack.defer(() => deltas.close());
  const brake = await openBrake({ db, wake, tally, log });
  // It would look again among the statements that are recorded.
  await brake.stop();
  const intake = await openIntake({ folders: {}, minFreeBytes: 0, brake, log });
  stack.defer(() => intake.stop());
  // Shares of an allowance are asked for once in many requests, so they belong to none of these.
  const aside = openDb(connection, { connections: 1, applicationName: "outrider-bench-recorder" });
  stack.defer(() => aside.end({ timeout: 5 }));
  const pulse = startPulse(aside, log);
  stack.defer(() => pulse.stop());
  const rates = new Rates(aside);
  stack.defer(() => rates.close());
  const stopping = new AbortController().signal;
  const services: Services = {
    db,
    claims: db,
    claimants: new Claimants(),
    vault,
    models: openModels({ providers: {}, aliases: {} }),
    rules: defaultRules,
    watch,
    wake,
    deltas,
    blobs: openBlobs(tmpdir(), db),
    intake,
    pulse,
    rates,
    quotas: { requestsPerMinute: 6_000, creationsPerMinute: 600, failuresPerMinute: 600 },
    retention: keepAll,
    minFreeBytes: 0,
    brake,
    tally,
    gitHost: "",
    origin: () => "",
    searches: openSearches(),
    streams: new Streams({ most: 1, mostEach: 1 }, stopping),
    stopping,
  };
  const front = {
    createServer: (answer: RequestListener) => createServer(answer),
    isStrict: false,
    connections: { count: 0, closed: { idle: 0, refused: 0 } },
  };
  const app = createApp({ services, front, web: loadWeb(), trustProxy: [], log });
  stack.defer(() => app.close());
  const origin = await app.listen({ host: "127.0.0.1", port: 0 });
  await db`select`; // A new connection begins with the driver's own questions.

  const statements: Statement[] = [];
  hooksOf(db).debug = (_connection, text, values, types) =>
    statements.push({ text, values: [...values], types: [...types] });
  const recorded: Recorded[] = [];
  for (const { path, ...request } of requests) {
    const reply = await fetch(origin + path, request);
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(`${request.method} ${path} answered ${reply.status}: ${text}`);
    recorded.push({ answer: JSON.parse(text), steps: stepsOf(statements.splice(0)) });
  }
  return recorded;
}

interface Hooks {
  debug?: (connection: number, text: string, values: unknown[], types: number[]) => void;
}

/** The driver asks its options for `debug` anew with each statement, so the hook may come late. */
function hooksOf(db: Db): Hooks {
  return db.options as Hooks;
}

function stepsOf(statements: Statement[]): Step[] {
  const steps: Step[] = [];
  let open: Step | undefined;
  for (const statement of statements) {
    const text = statement.text.trim();
    if (/^(rollback|savepoint|release|prepare)\b/.test(text))
      throw new Error(`The anchor cannot replay: ${text}`);
    if (text === "begin") open = { transaction: true, statements: [] };
    else if (text === "commit" && open) {
      steps.push(open);
      open = undefined;
    } else if (open) open.statements.push(statement);
    else steps.push({ transaction: false, statements: [statement] });
  }
  return steps;
}
