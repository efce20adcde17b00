import { topics } from "../../engine/live/pubsub.ts";
import {
  editFollowup,
  requireLimits,
  requireUsableHarness,
  sendFollowup,
  withdrawFollowup,
} from "../../engine/runs/followups.ts";
import { requireRun } from "../../engine/runs/runs.ts";
import { findWaitingRun } from "../../store/dispatch/requirements.ts";
import { listFollowups } from "../../store/runs/followups.ts";
import { type Handlers, noContent, ok } from "../pipeline/call.ts";

export const followupHandlers: Pick<
  Handlers,
  "createFollowup" | "listFollowups" | "updateFollowup" | "deleteFollowup"
> = {
  async createFollowup({ sql, services, principal, params, body, publish, wake }) {
    await requireLimits(sql, { ...services, principal, runId: params.runId }, body.limits);
    const { sent, workerId } = await sendFollowup(sql, principal, params.runId, body);
    // An active run always accepts a follow-up without attachments. If this throws, the follow-up is rolled back.
    if (sent.outcome === "new_turn" || body.attachments?.length) services.admission.requireOpen();
    if (sent.outcome === "new_turn") await requireUsableHarness(sql, services.harnesses, params.runId);
    services.counters.add("followups_sent");
    publish(topics.run(params.runId));
    if (sent.outcome === "new_turn") wake(await findWaitingRun(sql, params.runId));
    if (workerId) publish(topics.worker(workerId));
    return ok(sent);
  },

  async listFollowups({ sql, principal, params }) {
    await requireRun(sql, principal, params.runId);
    return ok({ followups: await listFollowups(sql, params.runId) });
  },

  async updateFollowup({ sql, principal, params, body }) {
    return ok(await editFollowup(sql, principal, params, body));
  },

  async deleteFollowup({ sql, principal, params }) {
    await withdrawFollowup(sql, principal, params);
    return noContent;
  },
};
