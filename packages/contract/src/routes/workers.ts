import { z } from "zod";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";
import { ListWorkersResponse, Worker } from "../worker.ts";

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
