import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The first byte of every TLS handshake. No HTTP request starts with it. */
const TLS_HANDSHAKE = 0x16;
/** The maximum time for the first byte of a handshake, or for a complete plain HTTP request. */
const TIMEOUT_MS = 10_000;

/**
 * Returns a function that inspects a connection's first byte. It passes TLS connections on. It answers plain HTTP
 * requests with the https address, because a failed handshake would only confuse users.
 */
export function createTlsDetector(
  origin: () => string,
  timeoutMs = TIMEOUT_MS,
): (socket: Socket, acceptTls: () => void) => void {
  const plain = createServer({ keepAliveTimeout: 1 }, (request, response) =>
    respond(request, response, origin()),
  );
  return (socket, acceptTls) => {
    const close = () => socket.destroy();
    const timer = setTimeout(close, timeoutMs);
    socket.once("close", () => clearTimeout(timer));
    socket.once("error", close);
    socket.once("data", (bytes: Buffer) => {
      socket.off("error", close);
      socket.pause();
      socket.unshift(bytes);
      if (bytes[0] === TLS_HANDSHAKE) {
        clearTimeout(timer);
        acceptTls();
      } else {
        // Keep the timer running: Node enforces no timeouts on a server that is not listening itself.
        plain.emit("connection", socket);
        socket.resume();
      }
    });
  };
}

/** Redirects page views. Requests with a key fail: a redirect would hide that the key was sent in clear text. */
function respond(request: IncomingMessage, response: ServerResponse, origin: string) {
  const isPageView = request.method === "GET" && !request.headers.authorization;
  const text = isPageView
    ? `Use ${origin}\n`
    : `This port requires TLS. Use ${origin}. If you sent a key, it crossed the network in clear text: revoke it and create another.\n`;
  response.writeHead(isPageView ? 308 : 400, {
    ...(isPageView ? { location: `${origin}${request.url?.startsWith("/") ? request.url : "/"}` } : {}),
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    connection: "close",
  });
  response.end(text);
}
