import type { ServerChannel } from "./server-channel.ts";

/** At most one announcement is sent in this time. */
const ANNOUNCE_MS = 1_000;
const REFRESH_MS = 15_000;
/** Longer than several refreshes, because announcements may be lost. */
const EXPIRY_MS = 60_000;
/** The number of IDs of 36 characters that fit into one message. */
const IDS_PER_MESSAGE = 200;

/** Knows which runs have readers on other servers, and tells them which runs have readers on this one. */
export interface WatchedRuns {
  /** Called when a run has readers on this server. */
  add(runId: string): void;
  delete(runId: string): void;
  isWatchedElsewhere(runId: string): boolean;
  close(): void;
}

/**
 * A server announces a run when it gets its first reader, and again every REFRESH_MS. It does not announce that the last
 * reader has left: other servers forget the run after EXPIRY_MS.
 */
export function openWatchedRuns(channel: ServerChannel): WatchedRuns {
  /** The time of each run's last announcement. New runs have none and come first. */
  const announcedAt = new Map<string, number>();
  const expiresAt = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let lastSentAt = -ANNOUNCE_MS;

  channel.on("watched", (message) => {
    const now = performance.now();
    for (const [runId, at] of expiresAt) if (at < now) expiresAt.delete(runId);
    for (const runId of message.split("\n")) expiresAt.set(runId, now + EXPIRY_MS);
  });

  function announce() {
    timer = undefined;
    const now = performance.now();
    const due = [...announcedAt]
      .filter(([, at]) => at + REFRESH_MS <= now)
      .sort(([, a], [, b]) => a - b)
      .slice(0, IDS_PER_MESSAGE)
      .map(([runId]) => runId);
    if (due.length > 0) {
      channel.send("watched", due.join("\n"));
      lastSentAt = now;
      for (const runId of due) announcedAt.set(runId, now);
    }
    if (announcedAt.size > 0) schedule(ANNOUNCE_MS);
  }

  function schedule(ms: number) {
    timer ??= setTimeout(announce, ms);
  }

  return {
    add(runId) {
      if (announcedAt.has(runId)) return;
      announcedAt.set(runId, -Infinity);
      const wait = lastSentAt + ANNOUNCE_MS - performance.now();
      if (wait <= 0) {
        clearTimeout(timer);
        timer = undefined;
      }
      schedule(Math.max(0, wait));
    },
    delete: (runId) => void announcedAt.delete(runId),
    isWatchedElsewhere: (runId) => (expiresAt.get(runId) ?? 0) > performance.now(),
    close: () => clearTimeout(timer),
  };
}
