import { isFinal } from "@outrider/contract/run-state";
import { withChangedFiles } from "../../engine/runs/changed-files.ts";
import { getRun, requireRun } from "../../engine/runs/runs.ts";
import { listEvents } from "../../store/runs/events.ts";
import { findRunState } from "../../store/runs/run-state.ts";
import { type Handlers, STREAMED } from "../pipeline/call.ts";
import { subjectOf } from "../pipeline/rate-limits.ts";
import { respondWithEvents } from "../streams/event-log.ts";
import { sendTranscript } from "../streams/transcript.ts";

export const eventHandlers: Pick<Handlers, "listEvents" | "getTranscript"> = {
  async listEvents(call) {
    const { sql, services, principal, params } = call;
    const { runWatcher, deltas, listLimiter } = services;
    const { runId } = params;
    await requireRun(sql, principal, runId);
    return respondWithEvents(call, {
      async hasEnded(after) {
        const runState = await findRunState(sql, runId);
        return runState !== undefined && isFinal(runState.state) && after >= runState.last_seq;
      },
      list: (after, limit) =>
        listLimiter.run(subjectOf(principal), () => listEvents(sql, { runId, after, limit })),
      follow({ signal, tryWrite }) {
        const { credentialId } = principal;
        // Between events, the stream also carries parts of the agent's message while the model is still writing it.
        const unsubscribe = deltas.on(runId, (text) =>
          tryWrite(`event: message.agent.delta\ndata: ${JSON.stringify({ text })}\n\n`),
        );
        return {
          async read(after, limit) {
            const { runState, ...page } = await runWatcher.read({ runId, after, limit });
            const seq = page.events.at(-1)?.seq ?? after;
            return { ...page, hasEnded: !runState || (isFinal(runState.state) && seq >= runState.last_seq) };
          },
          wait: async (after) => (await runWatcher.next({ runId, credentialId, after, signal })) !== "ended",
          close: unsubscribe,
        };
      },
    });
  },

  async getTranscript({ sql, services, principal, params, request, reply }) {
    const { db, blobs, listLimiter } = services;
    const run = await withChangedFiles(await getRun(sql, principal, params.runId), { sql, blobs });
    await sendTranscript({ db, listLimiter, subject: subjectOf(principal), run, request, reply });
    return STREAMED;
  },
};
