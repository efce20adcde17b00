import { startTicker } from "../../ticker.ts";
import { topics } from "../live/pubsub.ts";
import { type OpenOptions, openPullRequests } from "./open-pull-requests.ts";
import { type PollOptions, pollPullRequests } from "./poll-pull-requests.ts";

const OPEN_EVERY_MS = 1_000;
const POLL_EVERY_MS = 2_000;

interface TaskOptions extends OpenOptions, Omit<PollOptions, "forges"> {
  /** Whether the installation accepts writes. */
  isEnabled(): boolean;
}

/** Starts the background tasks that open pull requests and follow them. */
export function startPullRequestTasks(options: TaskOptions): { stop(): Promise<void> } {
  const { pubsub, counters, log, isEnabled } = options;
  const start = (task: (options: TaskOptions) => Promise<void>, everyMs: number, failure: string) =>
    startTicker({
      everyMs,
      async task() {
        if (isEnabled()) await task(options);
      },
      onError(error) {
        counters.failed("pull_requests");
        log.warn({ error }, failure);
      },
    });
  const opener = start(openPullRequests, OPEN_EVERY_MS, "failed to open pull requests");
  const poller = start(pollPullRequests, POLL_EVERY_MS, "failed to poll pull requests");
  const off = pubsub.on(topics.publications, opener.trigger);
  return {
    async stop() {
      off();
      await Promise.all([opener.stop(), poller.stop()]);
    },
  };
}
