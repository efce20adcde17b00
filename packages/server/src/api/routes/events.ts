import { limits } from "@outrider/contract/limits";
import { isFinal } from "@outrider/contract/run";
import { badMember } from "../../engine/refusal.ts";
import { requireRun } from "../../engine/runs.ts";
import { listEvents } from "../../store/events.ts";
import { findHead } from "../../store/heads.ts";
import { gone, type Handlers, ok, STREAMED } from "../call.ts";
import { asksForStream, streamEvents } from "../sse.ts";

function lastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined || header === "") return undefined;
  if (typeof header !== "string" || !/^\d{1,9}$/.test(header)) {
    throw badMember("Last-Event-ID", "must be the `seq` of an event");
  }
  return Number(header);
}

export const eventHandlers: Pick<Handlers, "listEvents"> = {
  async listEvents({ sql, services, principal, params, query, request, reply }) {
    const { runId } = params;
    await requireRun(sql, principal, runId);
    if (asksForStream(request)) {
      if (query.limit !== undefined) throw badMember("limit", "goes with pages; a stream has none");
      const after = lastEventId(request.headers["last-event-id"]) ?? query.after ?? 0;
      const head = await findHead(sql, runId);
      if (head && isFinal(head.state) && after >= head.last_seq) return gone;
      await streamEvents({ services, reply, runId, keyId: principal.key.key_id, after });
      return STREAMED;
    }
    const limit = query.limit ?? limits.eventPageSize.default;
    const rows = await listEvents(sql, { runId, after: query.after ?? 0, limit: limit + 1 });
    const events = rows.slice(0, limit);
    const has_next_page = rows.length > limit;
    const next_cursor = has_next_page ? String(events.at(-1)?.seq) : undefined;
    return ok({ events, page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) } });
  },
};
