import { notFound } from "../../engine/api-error.ts";
import { usableEnvironments } from "../../engine/auth/environment-access.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { ALIVE_MS } from "../../engine/runs/run-policy.ts";
import { drainWorker, listWorkers } from "../../store/dispatch/workers.ts";
import { type Handlers, ok } from "../pipeline/call.ts";

export const workersHandlers: Pick<Handlers, "listWorkers" | "getWorkerDemand" | "drainWorker"> = {
  async listWorkers({ sql, principal }) {
    return ok({ workers: await listWorkers(sql, ALIVE_MS, usableEnvironments(principal)) });
  },

  async getWorkerDemand({ services: { demand }, query: { pool } }) {
    return ok({ pools: pool === undefined ? await demand.listPools() : [await demand.findPool(pool)] });
  },

  async drainWorker({ sql, principal, params, publish }) {
    if (!(await drainWorker(sql, params.workerId))) throw notFound("worker");
    publish(topics.worker(params.workerId));
    publish(topics.queue);
    const workers = await listWorkers(sql, ALIVE_MS, usableEnvironments(principal));
    return ok(workers.find(({ worker_id }) => worker_id === params.workerId));
  },
};
