import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import { startTicker } from "../../ticker.ts";

/** The maximum time for a request body to arrive. */
const BODY_TIMEOUT_MS = 60_000;
/** After the response, the rest of the body is read for at most this long and up to this many bytes. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 1_048_576;
const CHECK_INTERVAL_MS = 20;

/**
 * Limits how long the server waits for a request body. A response such as 401 may be sent before the body has
 * arrived. The rest of a small body is then read and the connection stays open, because the client may send its next
 * request on that connection at any moment. If the rest is large, slow or endless, the connection is closed instead.
 */
export function limitBodyTime(
  { raw, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  onTimeout: (socket: Socket) => void,
) {
  const isEmpty = raw.headers["content-length"] === undefined && !raw.headers["transfer-encoding"];
  if (isEmpty) return;
  // Save the socket now: the request loses it when reading the body is abandoned.
  const { socket } = raw;
  reply.raw.once("finish", () => raw.complete || drain(raw, socket));
  // Blob uploads from workers may take longer. Their route has its own timeout.
  const { operation } = routeOptions.config as { operation?: string };
  if (operation === "worker.putBlob") return;
  const timer = setTimeout(() => raw.complete || onTimeout(socket), BODY_TIMEOUT_MS);
  raw.once("close", () => clearTimeout(timer));
}

/** Lets Node read and discard the rest of a body after the response. Closes the connection if that takes too long. */
function drain(raw: IncomingMessage, socket: Socket) {
  watchSocket(socket, {
    isDone: () => raw.complete,
    onLimit: () => lingerAndClose(socket),
  });
}

/**
 * Closes a connection whose client may still be sending. Destroying the socket at once would reset the connection, and
 * the client could lose a response that it has not read yet.
 */
export function lingerAndClose(socket: Socket) {
  if (socket.destroyed) return;
  socket.end();
  watchSocket(socket, { isDone: () => false, onLimit: () => socket.destroy() });
}

/** Calls `onLimit` when the linger time or bytes are exceeded, unless `isDone` is true or the socket closes first. */
function watchSocket(socket: Socket, { isDone, onLimit }: { isDone(): boolean; onLimit(): void }) {
  const [startedAt, before] = [performance.now(), socket.bytesRead];
  const stop = () => {
    void ticker.stop();
    socket.off("close", stop);
  };
  const ticker = startTicker({
    everyMs: CHECK_INTERVAL_MS,
    task() {
      if (isDone()) return stop();
      const isOver = performance.now() - startedAt > LINGER_MS || socket.bytesRead - before > LINGER_BYTES;
      if (!isOver) return;
      stop();
      onLimit();
    },
  });
  socket.once("close", stop);
}
