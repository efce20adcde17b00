import { z } from "zod";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";
import { ListWorkersResponse, Worker } from "../worker.ts";
import { PoolName, WorkerDemandResponse } from "../worker-pool.ts";

export const workersRoutes = {
  listWorkers: route({
    method: "GET",
    path: "/workers",
    tag: "Workers",
    summary: "List workers",
    scope: "admin",
    responses: { 200: { description: "All workers, connected ones first.", schema: ListWorkersResponse } },
    errors: [],
  }),
  getWorkerDemand: route({
    method: "GET",
    path: "/workers/demand",
    tag: "Workers",
    summary: "Get the demand for workers",
    description: "For autoscalers: the runs, workers and free slots of each pool.",
    scope: "admin",
    query: z.strictObject({
      pool: PoolName.optional().meta({
        description: "Returns only this pool, also if it has neither runs nor workers.",
      }),
    }),
    responses: {
      200: {
        description:
          "The pools with connected workers or open runs, and `default`. At most 100, those with workers first.",
        schema: WorkerDemandResponse,
      },
    },
    errors: [],
  }),
  drainWorker: route({
    method: "POST",
    path: "/workers/{workerId}/drain",
    tag: "Workers",
    summary: "Drain a worker",
    description:
      "The worker accepts no new work. It finishes its runs or returns them to the queue, then stops.",
    scope: "admin",
    allowedInReadOnly: true,
    params: z.object({ workerId: Uuid }),
    responses: { 200: { description: "The worker.", schema: Worker } },
    errors: [],
  }),
};
