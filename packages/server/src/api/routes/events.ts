import { limits } from "@outrider/contract/limits";
import { isFinal } from "@outrider/contract/run";
import type { FastifyReply } from "fastify";
import type { Principal } from "../../engine/principal.ts";
import { badMember } from "../../engine/refusal.ts";
import { getRun, requireRun } from "../../engine/runs.ts";
import { listEvents } from "../../store/events.ts";
import { findHead } from "../../store/heads.ts";
import { gone, type Handlers, ok, type Services, STREAMED } from "../call.ts";
import { subjectOf } from "../rate-limits.ts";
import { asksForStream, lastEventId } from "../sse.ts";
import { sendTranscript } from "../transcript.ts";

const BATCH = 500;

interface Following {
  services: Services;
  reply: FastifyReply;
  runId: string;
  principal: Principal;
  after: number;
}

/** Rows behind `after`, then a wait, then rows again, until the run is final and everything was sent. */
async function follow({ services, reply, runId, principal, after }: Following): Promise<void> {
  const { watch, deltas, streams } = services;
  const { credentialId } = principal;
  const stream = streams.open(reply, principal);
  const { signal } = stream;
  const off = deltas.on(runId, (text) =>
    stream.hint(`event: message.agent.delta\ndata: ${JSON.stringify({ text })}\n\n`),
  );
  try {
    for (let seq = after; !signal.aborted; ) {
      const { head, events, isCut } = await watch.read({ runId, after: seq, limit: BATCH });
      for (const event of events) {
        await stream.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      seq = events.at(-1)?.seq ?? seq;
      if (isCut || events.length === BATCH) continue;
      if (!head || (isFinal(head.state) && seq >= head.last_seq)) break;
      if ((await watch.next({ runId, credentialId, after: seq, signal })) === "over") break;
    }
  } finally {
    off();
    stream.end();
  }
}

export const eventHandlers: Pick<Handlers, "listEvents" | "getTranscript"> = {
  async listEvents({ sql, services, principal, params, query, request, reply }) {
    const { runId } = params;
    await requireRun(sql, principal, runId);
    const lastSeen = lastEventId(request);
    if (asksForStream(request)) {
      if (query.limit !== undefined) throw badMember("limit", "goes with pages; a stream has none");
      const after = lastSeen ?? query.after ?? 0;
      const head = await findHead(sql, runId);
      if (head && isFinal(head.state) && after >= head.last_seq) return gone;
      await follow({ services, reply, runId, principal, after });
      return STREAMED;
    }
    const limit = query.limit ?? limits.eventPageSize.default;
    const place = { runId, after: query.after ?? 0, limit: limit + 1 };
    const { events: rows, isCut } = await services.searches.within(subjectOf(principal), () =>
      listEvents(sql, place),
    );
    const events = rows.slice(0, limit);
    const has_next_page = isCut || rows.length > limit;
    const next_cursor = has_next_page ? String(events.at(-1)?.seq) : undefined;
    return ok({ events, page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) } });
  },

  async getTranscript({ sql, services, principal, params, request, reply }) {
    const run = await getRun(sql, principal, params.runId);
    const { db, searches } = services;
    await sendTranscript({ db, searches, subject: subjectOf(principal), run, request, reply });
    return STREAMED;
  },
};
