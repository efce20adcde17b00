import type { Socket } from "node:net";

/**
 * Copies data between two connections until both directions have ended. A side that has ended may still receive. An
 * error on one side resets the other: a normal end would make a truncated transfer look complete.
 */
export function joinSockets({
  client,
  upstream,
  idleMs,
}: {
  client: Socket;
  upstream: Socket;
  idleMs: number;
}): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    from.setTimeout(idleMs, () => from.resetAndDestroy());
    from.on("error", () => {});
    from.once("close", () => {
      if (!from.readableEnded || !from.writableFinished) to.resetAndDestroy();
    });
    from.pipe(to);
  }
}
