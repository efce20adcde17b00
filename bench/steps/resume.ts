import { randomUUID } from "node:crypto";
import type { RunEvent } from "@outrider/contract/event";
import type { Assignment, ReportRequest } from "@outrider/contract/worker";
import { Conversation } from "../../packages/agent/src/conversation/conversation.ts";
import { openDb } from "../../packages/server/src/store/connection/db.ts";
import { listEvents } from "../../packages/server/src/store/runs/events.ts";
import { connectToServer, type ServerClient } from "../../packages/worker/src/server-client/server-client.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "../support/start-outrider.ts";
import { generateTranscript } from "./transcript.ts";

const EVENTS = 10_000;
const BATCH = 500;
const TURNS = 10;
const QUANTILE = 0.25;
const HEARTBEAT_MS = 5_000;

const timeout = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };

/**
 * Measures how long a worker that resumes a long run takes to rebuild its conversation: it fetches all pages of the log
 * from the server and converts them to messages. The baseline reads the same pages from the database and discards them.
 */
export async function benchResume(): Promise<BenchResult[]> {
  await using stack = new AsyncDisposableStack();
  const outrider = stack.use(await startOutrider());
  const server = connectToServer({ url: outrider.origin, key: await createWorkerKey(outrider) });
  const { execution_id: executionId, run_id: runId } = await createLongRun(outrider, server);
  const executions = [{ run_id: runId, execution_id: executionId }];
  const heartbeat = setInterval(() => void server.heartbeat({ worker, executions }, timeout), HEARTBEAT_MS);
  stack.defer(() => clearInterval(heartbeat));
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));

  let pageSize = 0;
  const subject = async () => {
    const events: RunEvent[] = [];
    for (let after = 0, more = true; more; after = events.at(-1)?.seq as number) {
      const page = await server.history(executionId, after, timeout);
      pageSize ||= page.events.length;
      events.push(...page.events);
      more = page.has_next_page;
    }
    const messages = new Conversation(events).toMessages();
    if (messages.length < EVENTS / 10) throw new Error(`Only ${messages.length} messages were rebuilt.`);
  };
  const baseline = async () => {
    let count = 0;
    for (let after = 0, read = -1; read !== 0; ) {
      const { events } = await listEvents(db, { runId, after, limit: pageSize });
      read = events.length;
      count += read;
      after = events.at(-1)?.seq ?? after;
    }
    if (count < EVENTS) throw new Error(`Only ${count} events were read.`);
  };
  await subject();
  await baseline();
  const name = `resume with ${EVENTS} events`;
  const sidesInTurn = interleave({
    ...{ turns: TURNS, quantile: QUANTILE },
    subject: () => timeOf(subject),
    baseline: () => timeOf(baseline),
  });
  return [await compare({ name, limit: 1 / 3, ...sidesInTurn })];
}

/** Creates a working run whose worker has reported a long transcript. */
async function createLongRun(outrider: Outrider, server: ServerClient): Promise<Assignment> {
  await post(outrider, "/agent/run", { prompt: "Make the tests of the parser pass." });
  const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
  const [execution] = (await server.claim(request, timeout)).executions;
  if (!execution) throw new Error("No run to claim.");
  const { run_id, execution_id } = execution;
  const events = [...generateTranscript(EVENTS)];
  for (let batch = 1; events.length > 0; batch += 1) {
    const body = { run_id, batch, events: events.splice(0, BATCH), deliver: false };
    await server.report(execution_id, body as ReportRequest, timeout);
  }
  return execution;
}

async function timeOf(work: () => Promise<void>): Promise<number[]> {
  const startedAt = performance.now();
  await work();
  return [performance.now() - startedAt];
}
