import { randomUUID } from "node:crypto";
import type { Assignment } from "@outrider/contract/worker";
import { connect, type Server } from "../packages/worker/src/server.ts";
import { answerParent } from "./child.ts";

/** A worker that has one run and writes events to it, one at a time. */
export interface Reports {
  origin: string;
  key: string;
  count: number;
  everyMs: number;
}

const patience = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
let server: Server | undefined;
let held: Assignment | undefined;
let batch = 0;

/** By its number, when each event was written. */
answerParent<Reports>(async ({ origin, key, count, everyMs }) => {
  server ??= connect({ url: origin, key });
  const claimed = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
  held ??= (await server.claim(claimed, patience)).executions[0] as Assignment;
  const { run_id, execution_id } = held;
  const written = new Map<number, bigint>();
  while (written.size < count) {
    await server.heartbeat({ worker, executions: [{ run_id, execution_id }] }, patience);
    batch += 1;
    const events = [{ type: "message.agent" as const, data: { text: `This is report ${batch}.` } }];
    const body = { run_id, batch, events, deliver: false };
    const { last_seq } = await server.report(execution_id, body, patience);
    written.set(last_seq, process.hrtime.bigint());
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return written;
});
