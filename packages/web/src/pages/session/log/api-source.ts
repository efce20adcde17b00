import { outrider } from "../../../api.ts";
import type { LogSource } from "./source.ts";

export function apiSource(runId: string): LogSource {
  return {
    async page(after, limit, signal) {
      const page = await outrider.events.list(runId, { after, limit }, signal ? { signal } : {});
      return page.items;
    },
    // The log takes cuts up again itself, because only it can tell the reader so.
    stream: (after, signal) => outrider.runs.stream(runId, { after, signal, deltas: true, maxRetries: 0 }),
    artifactAddress: (artifactId) => `/api/v1/agent/artifacts/${encodeURIComponent(artifactId)}/content`,
  };
}
