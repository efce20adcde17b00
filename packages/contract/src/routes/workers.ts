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
    answers: { 200: { description: "Those that live first.", schema: ListWorkersResponse } },
    errors: [],
  }),
  drainWorker: route({
    method: "POST",
    path: "/workers/{workerId}/drain",
    tag: "Workers",
    summary: "Let a worker finish or hand back what it has, and take nothing new",
    scope: "admin",
    whileReadOnly: true,
    params: z.object({ workerId: Uuid }),
    answers: { 200: { description: "The worker.", schema: Worker } },
    errors: [],
  }),
};
