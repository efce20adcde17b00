import type { Worker } from "@outrider/contract/worker";
import { notFound } from "../../engine/api-error.ts";
import { usableEnvironments } from "../../engine/auth/environment-access.ts";
import { isAdmin, type Principal } from "../../engine/auth/principal.ts";
import { hideProblem } from "../../engine/harnesses/availability.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { ALIVE_MS } from "../../engine/runs/run-policy.ts";
import type { Sql } from "../../store/connection/db.ts";
import { drainWorker, listWorkers } from "../../store/dispatch/workers.ts";
import { type Handlers, ok } from "../pipeline/call.ts";

export const workersHandlers: Pick<Handlers, "listWorkers" | "drainWorker"> = {
  async listWorkers({ sql, principal }) {
    return ok({ workers: await listVisible(sql, principal) });
  },

  async drainWorker({ sql, principal, params, publish }) {
    if (!(await drainWorker(sql, params.workerId))) throw notFound("worker");
    publish(topics.worker(params.workerId));
    publish(topics.queue);
    const workers = await listVisible(sql, principal);
    return ok(workers.find(({ worker_id }) => worker_id === params.workerId));
  },
};

async function listVisible(sql: Sql, principal: Principal): Promise<Worker[]> {
  const workers = await listWorkers(sql, ALIVE_MS, usableEnvironments(principal));
  if (isAdmin(principal)) return workers;
  return workers.map(({ harnesses, ...worker }) => ({
    ...worker,
    ...(harnesses ? { harnesses: harnesses.map(hideProblem) } : {}),
  }));
}
