import type { RunEvent } from "@outrider/sdk";
import { outrider } from "../../../api.ts";
import type { LogSource } from "./source.ts";

export function apiSource(runId: string): LogSource {
  return {
    async page(after, limit, signal) {
      const events: RunEvent[] = [];
      for (let more = true; more; ) {
        const place = { after: events.at(-1)?.seq ?? after, limit: limit - events.length };
        const page = await outrider.events.list(runId, place, signal ? { signal } : {});
        events.push(...page.items);
        // Where events are large, a page has fewer of them than were asked for.
        more = page.hasNextPage() && events.length < limit;
      }
      return events;
    },
    // The log takes cuts up again itself, because only it can tell the reader so.
    stream: (after, signal) => outrider.runs.stream(runId, { after, signal, deltas: true, maxRetries: 0 }),
    artifactAddress: (artifactId) => `/api/v1/agent/artifacts/${encodeURIComponent(artifactId)}/content`,
  };
}
