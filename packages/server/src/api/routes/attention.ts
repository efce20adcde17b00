import type { Principal } from "../../engine/auth/principal.ts";
import { visibleRuns } from "../../engine/auth/run-access.ts";
import { requireRun, withLink } from "../../engine/runs/runs.ts";
import {
  type AttentionFilter,
  dismissAll,
  dismissRun,
  listAttention,
  restoreRun,
} from "../../store/runs/attention.ts";
import { type Handlers, noContent, ok } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";

const DEFAULT_LIMIT = 20;

function filterOf(principal: Principal, creator: "me" | undefined): AttentionFilter {
  const { uid } = principal.creator;
  return { uid, ...(creator ? { creator_uid: [uid] } : {}), ...visibleRuns(principal) };
}

export const attentionHandlers: Pick<
  Handlers,
  "listAttention" | "dismissAttention" | "putAttention" | "deleteAttention"
> = {
  async listAttention({ sql, services, principal, query }) {
    const { creator, limit = DEFAULT_LIMIT } = query;
    const found = await services.listLimiter.run(subjectOf(principal), () =>
      listAttention(sql, filterOf(principal, creator), limit),
    );
    const runs = found.runs.map((run) => withLink(run, services.origin()));
    return ok({ count: found.count, has_more: found.hasMore, runs });
  },

  async dismissAttention({ sql, principal, body }) {
    return ok({ dismissed: await dismissAll(sql, filterOf(principal, body.creator)) });
  },

  async putAttention({ sql, principal, params, body }) {
    await requireRun(sql, principal, params.runId);
    const { snoozed_until: snoozedUntil } = body;
    await dismissRun(sql, {
      uid: principal.creator.uid,
      runId: params.runId,
      ...(snoozedUntil ? { snoozedUntil } : {}),
    });
    return noContent;
  },

  async deleteAttention({ sql, principal, params }) {
    await requireRun(sql, principal, params.runId);
    await restoreRun(sql, { uid: principal.creator.uid, runId: params.runId });
    return noContent;
  },
};
