import type { Socket } from "node:net";
import type { FastifyRequest } from "fastify";

/** How long the body of a call may take to arrive. */
const BODY_MS = 60_000;
/** Time for a client to read an answer that it did not wait for. */
const LINGER_MS = 1_000;
/** Of a body that nobody wants, this much is still taken: whoever sends no more than that comes to read the answer. */
const LINGER_BYTES = 1_048_576;
const LOOK_MS = 20;

/** Files of workers take as long as they take, in a corner of their own. */
export function boundBody({ raw, routeOptions }: FastifyRequest, late: (socket: Socket) => void) {
  const { operation } = routeOptions.config as { operation?: string };
  const isEmpty = raw.headers["content-length"] === undefined && !raw.headers["transfer-encoding"];
  if (isEmpty || operation === "worker.putBlob") return;
  const timer = setTimeout(() => raw.complete || late(raw.socket), BODY_MS);
  raw.once("close", () => clearTimeout(timer));
}

/** Once it is answered, a request whose body still comes is not read to its end: it may have none. */
export function leaveUnread({ raw }: FastifyRequest) {
  if (!raw.complete && !raw.socket.destroyed) leave(raw.socket);
}

/**
 * Closes a connection whose other end may still be sending. To destroy it at once would take the answer from it: what
 * arrives at a socket that is gone is met with a reset, which makes the other end forget what it has not read yet.
 */
export function leave(socket: Socket) {
  const [began, before] = [performance.now(), socket.bytesRead];
  socket.end();
  const looking = setInterval(() => {
    if (performance.now() - began > LINGER_MS || socket.bytesRead - before > LINGER_BYTES) socket.destroy();
  }, LOOK_MS);
  looking.unref();
  socket.once("close", () => clearInterval(looking));
}
