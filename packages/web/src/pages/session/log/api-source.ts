import type { RunEvent } from "@outrider/sdk";
import { outrider } from "../../../api.ts";
import type { LogSource } from "./log-source.ts";

export function apiSource(runId: string): LogSource {
  return {
    async page(after, limit, signal) {
      const events: RunEvent[] = [];
      for (let more = true; more; ) {
        const range = { after: events.at(-1)?.seq ?? after, limit: limit - events.length };
        const page = await outrider.events.list(runId, range, signal ? { signal } : {});
        events.push(...page.items);
        // Pages are also limited by size, so a page with large events can be shorter than the limit.
        more = page.hasNextPage() && events.length < limit;
      }
      return events;
    },
    // The SDK must not retry, because the log reconnects itself and shows the connection state.
    stream: (after, signal) => outrider.runs.stream(runId, { after, signal, deltas: true, maxRetries: 0 }),
    artifactUrl: (artifactId) => `/api/v1/agent/artifacts/${encodeURIComponent(artifactId)}/content`,
  };
}
