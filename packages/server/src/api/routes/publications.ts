import { ApiError, notFound } from "../../engine/api-error.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { approvePublication, rejectPublication } from "../../engine/publishing/approvals.ts";
import {
  chooseStaged,
  readPublication,
  readPublications,
  requestPublication,
} from "../../engine/publishing/publications.ts";
import { requireUsableHarness } from "../../engine/runs/followups.ts";
import { requireRun } from "../../engine/runs/runs.ts";
import { findWaitingRun } from "../../store/dispatch/requirements.ts";
import { listStagedCommits } from "../../store/staged-commits.ts";
import { created, type Handlers, ok, STREAMED } from "../pipeline/call.ts";
import { redirectDownload } from "./redirect-download.ts";

type Operation =
  | "createPublication"
  | "listPublications"
  | "getPublication"
  | "approvePublication"
  | "rejectPublication"
  | "getCommits";

export const publicationHandlers: Pick<Handlers, Operation> = {
  async createPublication({ sql, services, principal, params, body, publish }) {
    const publication = await requestPublication(sql, services, { principal, runId: params.runId }, body);
    publish(topics.run(params.runId));
    publish(topics.publications);
    return created(publication);
  },

  async listPublications({ sql, services, principal, params }) {
    return ok(await readPublications(sql, services, { principal, runId: params.runId }));
  },

  async getPublication({ sql, principal, params }) {
    return ok(await readPublication(sql, principal, params));
  },

  async approvePublication({ sql, principal, params, body, publish }) {
    const publication = await approvePublication(sql, { principal, ...params, comment: body.comment });
    publish(topics.run(params.runId));
    publish(topics.publications);
    return ok(publication);
  },

  async rejectPublication({ sql, services, principal, params, body, publish, wake }) {
    const { publication, followup } = await rejectPublication(sql, {
      principal,
      ...params,
      comment: body.comment,
    });
    if (followup?.sent.outcome === "new_turn") {
      services.admission.requireOpen();
      await requireUsableHarness(sql, services.harnesses, params.runId);
      wake(await findWaitingRun(sql, params.runId));
    }
    if (followup) services.counters.add("followups_sent");
    publish(topics.run(params.runId));
    if (followup?.workerId) publish(topics.worker(followup.workerId));
    return ok(publication);
  },

  async getCommits({ sql, services, principal, params, query, request, reply }) {
    await requireRun(sql, principal, params.runId);
    const staged = chooseStaged(await listStagedCommits(sql, params.runId), query.path, "path");
    const { bundle, is_removed } = staged;
    if (is_removed) {
      throw new ApiError("resource_not_found", "The commits were deleted by the retention policy.");
    }
    if (!bundle) {
      const message = "The commits are not stored, because they cannot be published. The run's log says why.";
      throw new ApiError("conflict", message);
    }
    const contentType = "application/x-git-bundle";
    const disposition = `attachment; filename="${params.runId}.bundle"`;
    const file = { sha256: bundle.sha256, contentType, disposition };
    if (await redirectDownload(request, reply, services.blobs, file)) return STREAMED;
    const blob = await services.blobs.open(bundle.sha256);
    if (!blob) throw notFound("bundle");
    await reply
      .type(contentType)
      .header("content-length", blob.size)
      .header("content-disposition", disposition)
      .send(blob.content);
    return STREAMED;
  },
};
