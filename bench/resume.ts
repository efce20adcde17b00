import { randomUUID } from "node:crypto";
import type { RunEvent } from "@outrider/contract/event";
import type { Assignment } from "@outrider/contract/worker";
import { Conversation } from "../packages/agent/src/conversation.ts";
import { openDb } from "../packages/server/src/store/db.ts";
import { listEvents } from "../packages/server/src/store/events.ts";
import { connect, type Server } from "../packages/worker/src/server.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "./outrider.ts";
import { compare, inTurns, type Verdict } from "./rounds.ts";
import { transcript } from "./transcript.ts";

const EVENTS = 10_000;
const BATCH = 500;
const TURNS = 10;
const QUIET = 0.25;
const HEARTBEAT_MS = 5_000;

const patience = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };

/**
 * How long it takes until a worker that goes on with a long run has its conversation again: all pages of the log from the
 * server, and the messages from them. The anchor reads the same pages from the database and does nothing with them.
 */
export async function benchResume(): Promise<Verdict[]> {
  await using stack = new AsyncDisposableStack();
  const outrider = stack.use(await startOutrider());
  const server = connect({ url: outrider.origin, key: await createWorkerKey(outrider) });
  const { execution_id: executionId, run_id: runId } = await longRun(outrider, server);
  const executions = [{ run_id: runId, execution_id: executionId }];
  const heart = setInterval(() => void server.heartbeat({ worker, executions }, patience), HEARTBEAT_MS);
  stack.defer(() => clearInterval(heart));
  const db = openDb(outrider.connection, { connections: 1, applicationName: "outrider-bench" });
  stack.defer(() => db.end({ timeout: 5 }));

  let pageSize = 0;
  const subject = async () => {
    const events: RunEvent[] = [];
    for (let after = 0, more = true; more; after = events.at(-1)?.seq as number) {
      const page = await server.history(executionId, after, patience);
      pageSize ||= page.events.length;
      events.push(...page.events);
      more = page.has_next_page;
    }
    const messages = new Conversation(events).read();
    if (messages.length < EVENTS / 10) throw new Error(`Only ${messages.length} messages were rebuilt.`);
  };
  const anchor = async () => {
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
  await anchor();
  const name = `resume with ${EVENTS} events`;
  const contest = inTurns({
    ...{ turns: TURNS, part: QUIET },
    subject: () => timed(subject),
    anchor: () => timed(anchor),
  });
  return [await compare({ name, limit: 1 / 3, ...contest })];
}

/** A run at work, with a transcript that its worker has reported. */
async function longRun(outrider: Outrider, server: Server): Promise<Assignment> {
  await post(outrider, "/agent/run", { prompt: "Make the tests of the parser pass." });
  const asked = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
  const [execution] = (await server.claim(asked, patience)).executions;
  if (!execution) throw new Error("There was nothing to claim.");
  const { run_id, execution_id } = execution;
  const events = [...transcript(EVENTS)];
  for (let batch = 1; events.length > 0; batch += 1) {
    const body = { run_id, batch, events: events.splice(0, BATCH), deliver: false };
    await server.report(execution_id, body as never, patience);
  }
  return execution;
}

async function timed(work: () => Promise<void>): Promise<number[]> {
  const began = performance.now();
  await work();
  return [performance.now() - began];
}
