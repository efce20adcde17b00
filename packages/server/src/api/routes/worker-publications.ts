import { notFound } from "../../engine/api-error.ts";
import type { WorkerHandlers } from "../pipeline/call.ts";

type Operation = "publish" | "listRequested" | "takePublication" | "finishPublication";

export const workerPublicationHandlers: Pick<WorkerHandlers, Operation> = {
  async publish() {
    throw notFound("publication");
  },

  async listRequested() {
    throw notFound("publication");
  },

  async takePublication() {
    throw notFound("publication");
  },

  async finishPublication() {
    throw notFound("publication");
  },
};
