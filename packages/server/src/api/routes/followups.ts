import { editFollowup, requireLimits, sendFollowup, withdrawFollowup } from "../../engine/followups.ts";
import { requireRun } from "../../engine/runs.ts";
import { topics } from "../../engine/wake.ts";
import { listFollowups } from "../../store/followups.ts";
import { gone, type Handlers, ok } from "../call.ts";

export const followupHandlers: Pick<
  Handlers,
  "createFollowup" | "listFollowups" | "updateFollowup" | "deleteFollowup"
> = {
  async createFollowup({ sql, services, principal, params, body, say }) {
    await requireLimits(sql, { ...services, principal, runId: params.runId }, body.limits);
    const { sent, workerId } = await sendFollowup(sql, principal, params.runId, body);
    // Words to a run at work are always taken. A refusal undoes the rest.
    if (sent.outcome === "new_turn" || body.attachments?.length) services.intake.requireOpen();
    services.tally.add("followups_sent");
    say(topics.run(params.runId));
    if (sent.outcome === "new_turn") say(topics.queue);
    if (workerId) say(topics.worker(workerId));
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
    return gone;
  },
};
