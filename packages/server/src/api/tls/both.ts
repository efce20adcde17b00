import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Every handshake begins with this byte, and no request does. */
const HANDSHAKE = 0x16;
/** For the first byte of a handshake, or for all of a plain request. */
const PATIENCE_MS = 10_000;

/** Whoever speaks plain HTTP to a port of TLS is told where to go, instead of being hung up on. */
export function sortOut(
  origin: () => string,
  patienceMs = PATIENCE_MS,
): (socket: Socket, secure: () => void) => void {
  const plain = createServer({ keepAliveTimeout: 1 }, (request, response) =>
    answer(request, response, origin()),
  );
  return (socket, secure) => {
    const hangUp = () => socket.destroy();
    const timer = setTimeout(hangUp, patienceMs);
    socket.once("close", () => clearTimeout(timer));
    socket.once("error", hangUp);
    socket.once("data", (bytes: Buffer) => {
      socket.off("error", hangUp);
      socket.pause();
      socket.unshift(bytes);
      if (bytes[0] === HANDSHAKE) {
        clearTimeout(timer);
        secure();
      } else {
        // Nobody else looks how long it takes: a server that does not listen by itself bounds nothing.
        plain.emit("connection", socket);
        socket.resume();
      }
    });
  };
}

/** A key that came this way was already sent in the clear: to answer with a redirect would hide that. */
function answer(request: IncomingMessage, response: ServerResponse, origin: string) {
  const isBrowsing = request.method === "GET" && !request.headers.authorization;
  const said = isBrowsing
    ? `Use ${origin}\n`
    : `This port speaks TLS: use ${origin}. If you have sent a key, it travelled in the clear: make another.\n`;
  response.writeHead(isBrowsing ? 308 : 400, {
    ...(isBrowsing ? { location: `${origin}${request.url?.startsWith("/") ? request.url : "/"}` } : {}),
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(said),
    connection: "close",
  });
  response.end(said);
}
