import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";

/** How long the body of a call may take to arrive. */
const BODY_MS = 60_000;
/** Time for a client to read an answer that it did not wait for. */
const LINGER_MS = 1_000;
/** Of a body that nobody wants, this much is still taken: whoever sends no more than that comes to read the answer. */
const LINGER_BYTES = 1_048_576;
const LOOK_MS = 20;

/** A body is waited for only so long, and is not read to its end once the request is answered: it may have none. */
export function boundBody(
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  late: (socket: Socket) => void,
) {
  const isEmpty = raw.headers["content-length"] === undefined && !raw.headers["transfer-encoding"];
  if (isEmpty) return;
  // A request that its reader has given up no longer knows its socket.
  const { socket } = raw;
  reply.raw.once("finish", () => raw.complete || leave(socket));
  // Files of workers take as long as they take, in a corner of their own.
  const { operation } = routeOptions.config as { operation?: string };
  if (operation === "worker.putBlob") return;
  const timer = setTimeout(() => raw.complete || late(socket), BODY_MS);
  raw.once("close", () => clearTimeout(timer));
}

/**
 * Closes a connection whose other end may still be sending. To destroy it at once would take the answer from it: what
 * arrives at a socket that is gone is met with a reset, which makes the other end forget what it has not read yet.
 */
export function leave(socket: Socket) {
  if (socket.destroyed) return;
  const [began, before] = [performance.now(), socket.bytesRead];
  socket.end();
  const looking = setInterval(() => {
    if (performance.now() - began > LINGER_MS || socket.bytesRead - before > LINGER_BYTES) socket.destroy();
  }, LOOK_MS);
  looking.unref();
  socket.once("close", () => clearInterval(looking));
}
