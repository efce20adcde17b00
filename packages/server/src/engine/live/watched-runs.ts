import { Announcer, EXPIRY_MS } from "./announcer.ts";
import type { ServerChannel } from "./server-channel.ts";

/** Knows which runs have readers on other servers, and tells them which runs have readers on this one. */
export interface WatchedRuns {
  /** Called when a run has readers on this server. */
  add(runId: string): void;
  delete(runId: string): void;
  isWatchedElsewhere(runId: string): boolean;
  close(): void;
}

export function openWatchedRuns(channel: ServerChannel): WatchedRuns {
  const announcer = new Announcer((runIds) => channel.send("watched", runIds.join("\n")));
  const expiresAt = new Map<string, number>();

  channel.on("watched", (message) => {
    const now = performance.now();
    for (const [runId, at] of expiresAt) if (at < now) expiresAt.delete(runId);
    for (const runId of message.split("\n")) expiresAt.set(runId, now + EXPIRY_MS);
  });

  return {
    add: (runId) => announcer.add(runId),
    delete: (runId) => announcer.delete(runId),
    isWatchedElsewhere: (runId) => (expiresAt.get(runId) ?? 0) > performance.now(),
    close: () => announcer.close(),
  };
}
