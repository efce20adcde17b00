import { randomUUID } from "node:crypto";
import { zeroUsage } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import { connectToServer, type ServerClient } from "../../packages/worker/src/server-client/server-client.ts";
import { answerParent } from "../support/child-process.ts";
import type { Times } from "./baseline-queue.ts";

/** Speaks the worker protocol without doing any work: claims runs and finishes each at once. */
export interface ClaimRuns {
  origin: string;
  key: string;
  count: number;
}

const timeout = AbortSignal.timeout(3_600_000);
const worker = { worker_id: randomUUID(), name: "bench", version: "0", slots: 1 };
let server: ServerClient | undefined;

answerParent<ClaimRuns>(async ({ origin, key, count }) => {
  server ??= connectToServer({ url: origin, key });
  const times: Times = new Map();
  while (times.size < count) {
    const request = { request_id: randomUUID(), worker, free: 1, wait_ms: 10_000 };
    const { executions } = await server.claim(request, timeout);
    const at = process.hrtime.bigint();
    for (const execution of executions) {
      times.set(execution.run_id, at);
      await finish(server, execution);
    }
  }
  return times;
});

async function finish(server: ServerClient, { run_id, execution_id }: Assignment) {
  const outcome = { type: "succeeded" as const, text: "" };
  await server.finish(execution_id, { run_id, batch: 1, events: [], usage: zeroUsage, outcome }, timeout);
}
