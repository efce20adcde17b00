import type { MessageAgentDelta, RunEvent } from "@outrider/sdk";

/** Provides a run's events, either from the API or from a share link. */
export interface LogSource {
  /** Returns up to `limit` events after `after`, in order. Returns fewer events only at the end of the log. */
  page(after: number, limit: number, signal?: AbortSignal): Promise<RunEvent[]>;
  /**
   * Streams the events after `after`. Ends when the run is final and all events have been sent. Throws if the
   * connection breaks.
   */
  stream(after: number, signal: AbortSignal): AsyncIterable<RunEvent | MessageAgentDelta>;
  /** Returns the URL of an artifact's content. If absent, artifacts cannot be downloaded. */
  artifactUrl?: (artifactId: string) => string;
}
