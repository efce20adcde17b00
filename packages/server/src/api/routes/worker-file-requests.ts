import { assignFileRequest, finishRequest } from "../../engine/files/assign-files.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { noContent, ok, type WorkerHandlers } from "../pipeline/call.ts";

export const workerFileRequestHandlers: Pick<WorkerHandlers, "takeFileRequest" | "finishFileRequest"> = {
  async takeFileRequest({ sql, services, params, body }) {
    const { worker_id: workerId, source } = body;
    return ok(await assignFileRequest(sql, services, { requestId: params.requestId, workerId, source }));
  },

  async finishFileRequest({ sql, params, body, publish }) {
    const { isQueued } = await finishRequest(sql, params.requestId, body);
    publish(isQueued ? topics.fileRequests : topics.fileRequest(params.requestId));
    return noContent;
  },
};
