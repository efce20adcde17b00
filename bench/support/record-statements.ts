import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { pino } from "pino";
import { loadWeb } from "../../packages/server/src/api/pages/web.ts";
import { createApp } from "../../packages/server/src/api/pipeline/app.ts";
import type { Services } from "../../packages/server/src/api/pipeline/call.ts";
import { Streams } from "../../packages/server/src/api/streams/streams.ts";
import { openFolder } from "../../packages/server/src/blobs/folder.ts";
import { openVault } from "../../packages/server/src/engine/auth/vault.ts";
import { openBlobs } from "../../packages/server/src/engine/blobs.ts";
import { openAdmission } from "../../packages/server/src/engine/dispatch/admission.ts";
import { Claimer } from "../../packages/server/src/engine/dispatch/claimer.ts";
import { DemandReader } from "../../packages/server/src/engine/dispatch/demand.ts";
import { Heartbeats } from "../../packages/server/src/engine/dispatch/heartbeats.ts";
import { SignalReader } from "../../packages/server/src/engine/dispatch/signals.ts";
import { WaitingClaims } from "../../packages/server/src/engine/dispatch/waiting-claims.ts";
import { WakeUps } from "../../packages/server/src/engine/dispatch/wake-ups.ts";
import { WorkerAccess } from "../../packages/server/src/engine/dispatch/worker-access.ts";
import { Forges } from "../../packages/server/src/engine/forges/forges.ts";
import { openHarnesses } from "../../packages/server/src/engine/harnesses/harnesses.ts";
import { createListLimiter } from "../../packages/server/src/engine/limits/list-limiter.ts";
import { Rates } from "../../packages/server/src/engine/limits/rates.ts";
import { openDeltas } from "../../packages/server/src/engine/live/deltas.ts";
import { openPubSub } from "../../packages/server/src/engine/live/pubsub.ts";
import { openRunWatcher } from "../../packages/server/src/engine/live/run-watcher.ts";
import { openServerChannel } from "../../packages/server/src/engine/live/server-channel.ts";
import { openLiveModels } from "../../packages/server/src/engine/models/live-models.ts";
import { ModelProviders } from "../../packages/server/src/engine/models/model-providers.ts";
import { Counters } from "../../packages/server/src/engine/operations/counters.ts";
import { startDatabaseHealth } from "../../packages/server/src/engine/operations/database-health.ts";
import { openMaintenance } from "../../packages/server/src/engine/operations/maintenance.ts";
import { keepAll } from "../../packages/server/src/engine/operations/retention.ts";
import { defaultRunPolicy } from "../../packages/server/src/engine/runs/run-policy.ts";
import { OutboundNetwork } from "../../packages/server/src/outbound/outbound-network.ts";
import { type Db, openDb, type PostgresConnection } from "../../packages/server/src/store/connection/db.ts";

/** A statement as it was passed to the driver, with its values and the types that the code named. */
export interface Statement {
  text: string;
  values: unknown[];
  types: number[];
}

/** A single statement, or the statements of a transaction. */
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
 * Records the statements that the service's own code sends to the database for each request. Baselines replay them, so
 * they always match the code and omit nothing.
 */
export async function recordRequests(
  connection: PostgresConnection,
  requests: Request[],
): Promise<Recorded[]> {
  await using stack = new AsyncDisposableStack();
  // A single connection keeps the statements in order.
  const db = openDb(connection, { connections: 1, applicationName: "outrider-bench-recorder" });
  stack.defer(() => db.end({ timeout: 5 }));
  const log = pino({ level: "silent" });
  const counters = new Counters();
  // Rate-limit shares and notifications are sent once per many requests, so they are not recorded.
  const unrecorded = openDb(connection, { connections: 1, applicationName: "outrider-bench-recorder" });
  stack.defer(() => unrecorded.end({ timeout: 5 }));
  const open = () => openDb(connection, { connections: 1 });
  const channel = await openServerChannel({ db: unrecorded, open, counters, log });
  stack.defer(() => channel.close());
  const pubsub = openPubSub(channel);
  stack.defer(() => pubsub.close());
  const runWatcher = openRunWatcher({ db, pubsub, counters, log });
  stack.defer(() => runWatcher.close());
  const vault = openVault(randomBytes(32));
  const deltas = openDeltas(channel, counters);
  stack.defer(() => deltas.close());
  const maintenance = await openMaintenance({ db, pubsub, counters, log });
  // Stopped, because its polling would be recorded.
  await maintenance.stop();
  const admission = await openAdmission({ folders: {}, minFreeBytes: 0, maintenance, log });
  stack.defer(() => admission.stop());
  const databaseHealth = startDatabaseHealth({ ping: () => unrecorded`select 1`, log });
  stack.defer(() => databaseHealth.stop());
  const rates = new Rates(unrecorded);
  stack.defer(() => rates.close());
  const stopping = new AbortController().signal;
  const configured = { providers: {}, aliases: {} };
  const models = await openLiveModels({
    ...{ db: unrecorded, vault, configured, addressPolicy: "public", log },
  });
  const networks = { checked: new OutboundNetwork(), unchecked: new OutboundNetwork() };
  const waitingClaims = new WaitingClaims();
  const wakeUps = new WakeUps({ channel, pubsub });
  stack.defer(() => wakeUps.close());
  const harnesses = openHarnesses({}, models);
  const claimer = new Claimer({
    ...{ db, claims: db, waitingClaims, vault, models, harnesses, policy: defaultRunPolicy, gitHost: "" },
    ...{ wakeUps, pubsub, maintenance },
  });
  const services: Services = {
    db,
    claimer,
    waitingClaims,
    wakeUps,
    workerAccess: new WorkerAccess(),
    heartbeats: new Heartbeats({ db, leaseMs: defaultRunPolicy.leaseMs }),
    demand: new DemandReader(db),
    signalReader: new SignalReader({ db, pubsub }),
    vault,
    models,
    modelProviders: new ModelProviders({ configured, models, vault, networks, references: [] }),
    harnesses,
    forges: new Forges({ db, vault, network: new OutboundNetwork() }),
    policy: defaultRunPolicy,
    runWatcher,
    pubsub,
    deltas,
    blobs: openBlobs(openFolder(tmpdir()), db),
    admission,
    databaseHealth,
    rates,
    quotas: { requestsPerMinute: 6_000, creationsPerMinute: 600, failuresPerMinute: 600 },
    retention: keepAll,
    minFreeBytes: 0,
    maintenance,
    counters,
    gitHost: "",
    origin: () => "",
    listLimiter: createListLimiter(8),
    streams: new Streams({ max: 1, maxPerCaller: 1 }, stopping),
    stopping,
    log,
  };
  const httpServer = {
    createServer: (listener: RequestListener) => createServer(listener),
    sendsHsts: false,
    connections: { count: 0, closed: { idle: 0, refused: 0 } },
  };
  const app = createApp({ services, httpServer, web: loadWeb(), trustProxy: [], corsOrigins: [], log });
  stack.defer(() => app.close());
  const origin = await app.listen({ host: "127.0.0.1", port: 0 });
  await db`select`; // The driver sends its own queries on a new connection.

  const statements: Statement[] = [];
  hooksOf(db).debug = (_connection, text, values, types) =>
    statements.push({ text, values: [...values], types: [...types] });
  const recorded: Recorded[] = [];
  for (const { path, ...request } of requests) {
    const reply = await fetch(origin + path, request);
    const text = await reply.text();
    if (reply.status !== 200) throw new Error(`${request.method} ${path} returned ${reply.status}: ${text}`);
    recorded.push({ answer: JSON.parse(text), steps: stepsOf(statements.splice(0)) });
  }
  return recorded;
}

interface Hooks {
  debug?: (connection: number, text: string, values: unknown[], types: number[]) => void;
}

/** The driver reads `debug` from its options for each statement, so the hook can be set later. */
function hooksOf(db: Db): Hooks {
  return db.options as Hooks;
}

function stepsOf(statements: Statement[]): Step[] {
  const steps: Step[] = [];
  let open: Step | undefined;
  for (const statement of statements) {
    const text = statement.text.trim();
    if (/^(rollback|savepoint|release|prepare)\b/.test(text))
      throw new Error(`The baseline cannot replay: ${text}`);
    if (text === "begin") open = { transaction: true, statements: [] };
    else if (text === "commit" && open) {
      steps.push(open);
      open = undefined;
    } else if (open) open.statements.push(statement);
    else steps.push({ transaction: false, statements: [statement] });
  }
  return steps;
}
