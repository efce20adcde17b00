import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Every handshake begins with this byte, and no request does. */
const HANDSHAKE = 0x16;
const FIRST_BYTE_MS = 10_000;

/** Whoever speaks plain HTTP to a port of TLS is told where to go, instead of being hung up on. */
export function sortOut(origin: () => string): (socket: Socket, secure: () => void) => void {
  const plain = createServer({ requestTimeout: FIRST_BYTE_MS, keepAliveTimeout: 1 }, (request, response) =>
    answer(request, response, origin()),
  );
  return (socket, secure) => {
    const hangUp = () => socket.destroy();
    const timer = setTimeout(hangUp, FIRST_BYTE_MS);
    socket.once("close", () => clearTimeout(timer));
    socket.once("error", hangUp);
    socket.once("data", (bytes: Buffer) => {
      clearTimeout(timer);
      socket.off("error", hangUp);
      socket.pause();
      socket.unshift(bytes);
      if (bytes[0] === HANDSHAKE) secure();
      else {
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
