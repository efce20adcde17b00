import { topics } from "../../engine/live/pubsub.ts";
import { assignPublication, finishPublication } from "../../engine/publishing/assignments.ts";
import { listRequested, publishStaged } from "../../engine/publishing/staging.ts";
import { requireExecution } from "../../engine/runs/executions.ts";
import { noContent, ok, type WorkerHandlers } from "../pipeline/call.ts";

type Operation = "publish" | "listRequested" | "takePublication" | "finishPublication";

export const workerPublicationHandlers: Pick<WorkerHandlers, Operation> = {
  async publish({ sql, services, params, body, publish }) {
    const { response, isQueued } = await publishStaged(sql, services, params.executionId, body);
    publish(topics.run(body.run_id));
    if (isQueued) publish(topics.publications);
    return ok(response);
  },

  async listRequested({ sql, params, body }) {
    const runId = await requireExecution(sql, params.executionId);
    return ok({ publications: await listRequested(sql, runId, body.publication_ids) });
  },

  async takePublication({ services, params, body, publish }) {
    const { publicationId } = params;
    const assigned = await assignPublication(services, { publicationId, workerId: body.worker_id });
    publish(topics.run(assigned.run_id));
    return ok(assigned);
  },

  async finishPublication({ sql, params, body, publish }) {
    const { run_id } = await finishPublication(sql, params.publicationId, body);
    publish(topics.run(run_id));
    publish(topics.publications);
    return noContent;
  },
};
