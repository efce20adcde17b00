import { notFound } from "../../engine/refusal.ts";
import { ALIVE_MS } from "../../engine/rules.ts";
import { topics } from "../../engine/wake.ts";
import { drainWorker, listWorkers } from "../../store/workers.ts";
import { type Handlers, ok } from "../call.ts";

export const workersHandlers: Pick<Handlers, "listWorkers" | "drainWorker"> = {
  async listWorkers({ sql }) {
    return ok({ workers: await listWorkers(sql, ALIVE_MS) });
  },

  async drainWorker({ sql, params, say }) {
    if (!(await drainWorker(sql, params.workerId))) throw notFound("worker");
    say(topics.worker(params.workerId));
    say(topics.queue);
    const workers = await listWorkers(sql, ALIVE_MS);
    return ok(workers.find(({ worker_id }) => worker_id === params.workerId));
  },
};
