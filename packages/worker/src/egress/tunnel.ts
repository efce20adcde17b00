import type { Socket } from "node:net";

/**
 * Joins two connections until both directions have ended. One side may end and still listen. An end by error is passed on
 * as one: a plain end would make half a file look whole.
 */
export function join({
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
