import { randomUUID } from "node:crypto";
import type { Assignment } from "@outrider/contract/worker";
import { connectToServer, type ServerClient } from "../../packages/worker/src/server-client/server-client.ts";
import { answerParent } from "../support/child-process.ts";

/** Acts as a worker with one run and reports events, one at a time. */
export interface ReportEvents {
  origin: string;
  key: string;
  count: number;
  intervalMs: number;
}

const timeout = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
let server: ServerClient | undefined;
let assignment: Assignment | undefined;
let batch = 0;

/** Returns when each event was written, by sequence number. */
answerParent<ReportEvents>(async ({ origin, key, count, intervalMs }) => {
  server ??= connectToServer({ url: origin, key });
  const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
  assignment ??= (await server.claim(request, timeout)).executions[0] as Assignment;
  const { run_id, execution_id } = assignment;
  const written = new Map<number, bigint>();
  while (written.size < count) {
    await server.heartbeat({ worker, executions: [{ run_id, execution_id }] }, timeout);
    batch += 1;
    const events = [{ type: "message.agent" as const, data: { text: `This is report ${batch}.` } }];
    const body = { run_id, batch, events, deliver: false };
    const { last_seq } = await server.report(execution_id, body, timeout);
    written.set(last_seq, process.hrtime.bigint());
    await new Promise((resolve) => setTimeout(resolve, intervalMs));
  }
  return written;
});
