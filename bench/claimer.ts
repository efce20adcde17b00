import { randomUUID } from "node:crypto";
import { noUsage } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { connect, type Server } from "../packages/worker/src/server.ts";
import { answerParent } from "./child.ts";
import type { Times } from "./jobs.ts";

/** What a worker says and nothing of what it does: claims runs and ends each at once. */
export interface Claimer {
  origin: string;
  key: string;
  count: number;
}

const patience = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
let server: Server | undefined;

answerParent<Claimer>(async ({ origin, key, count }) => {
  server ??= connect({ url: origin, key });
  const times: Times = new Map();
  while (times.size < count) {
    const asked = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
    const { executions } = await server.claim(asked, patience);
    const at = process.hrtime.bigint();
    for (const one of executions) {
      times.set(one.run_id, at);
      await end(server, one);
    }
  }
  return times;
});

async function end(server: Server, { run_id, execution_id }: Assignment) {
  const outcome = { type: "succeeded" as const, text: "" };
  await server.finish(execution_id, { run_id, batch: 1, events: [], usage: noUsage, outcome }, patience);
}
