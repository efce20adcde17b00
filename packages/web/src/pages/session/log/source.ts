import type { MessageAgentDelta, RunEvent } from "@outrider/sdk";

/** Where a run's events come from: the API, or what a share link opens. */
export interface LogSource {
  /** At most `limit` events behind `after`, in order; fewer only where the log ends. */
  page(after: number, limit: number, signal?: AbortSignal): Promise<RunEvent[]>;
  /** What follows `after` as it happens. Ends when the run is final and everything was told; a cut is thrown. */
  stream(after: number, signal: AbortSignal): AsyncIterable<RunEvent | MessageAgentDelta>;
  /** The address that an artifact's content is fetched from; without it there are no downloads. */
  artifactAddress?: (artifactId: string) => string;
}
