import { Socket } from "node:net";
import type { Duplex } from "node:stream";

/**
 * Copies data between two connections until both directions have ended. A side that has ended may still receive. An
 * error on one side resets the other: a normal end would make a truncated transfer look complete.
 */
export function joinStreams({
  client,
  upstream,
  idleMs,
}: {
  client: Duplex;
  upstream: Socket;
  idleMs: number;
}): void {
  for (const [from, to] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    if (from instanceof Socket) from.setTimeout(idleMs, () => reset(from));
    from.on("error", () => {});
    from.once("close", () => {
      if (!from.readableEnded || !from.writableFinished) reset(to);
    });
    from.pipe(to);
  }
}

/** A stream that is not a socket has no reset. Its carrier must turn the error into one. */
function reset(stream: Duplex): void {
  if (stream instanceof Socket) stream.resetAndDestroy();
  else stream.destroy(new Error("The other side closed the connection."));
}
