import { startTicker, type Ticker } from "../../ticker.ts";
import { topics } from "../live/pubsub.ts";
import { type OpenOptions, openPullRequests } from "./open-pull-requests.ts";
import { type PollOptions, pollPullRequests } from "./poll-pull-requests.ts";

interface TaskOptions extends OpenOptions, Omit<PollOptions, "forges"> {
  /** Whether the installation accepts writes. */
  isEnabled(): boolean;
}

interface PullRequestTasks {
  opener: Pick<Ticker, "trigger">;
  poller: Pick<Ticker, "trigger">;
  stop(): Promise<void>;
}

/** Starts the background tasks that open pull requests and follow them when they are triggered. */
export function startPullRequestTasks(options: TaskOptions): PullRequestTasks {
  const { pubsub, counters, log, isEnabled } = options;
  const start = (task: (options: TaskOptions) => Promise<void>, failure: string) =>
    startTicker({
      async task() {
        if (isEnabled()) await task(options);
      },
      onError(error) {
        counters.failed("pull_requests");
        log.warn({ error }, failure);
      },
    });
  const opener = start(openPullRequests, "failed to open pull requests");
  const poller = start(pollPullRequests, "failed to poll pull requests");
  const off = pubsub.on(topics.publications, opener.trigger);
  return {
    opener,
    poller,
    async stop() {
      off();
      await Promise.all([opener.stop(), poller.stop()]);
    },
  };
}
