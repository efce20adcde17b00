import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";

/** Starts an HTTP server that gives the whole body of each request to `handle`. Returns its port. */
export async function listen(
  handle: (request: { url: string; body: string }, reply: ServerResponse) => void,
): Promise<number> {
  const server = createServer(async (request, reply) => {
    reply.on("error", () => {});
    const body = await readBody(request);
    if (body !== undefined) handle({ url: request.url ?? "", body }, reply);
  });
  // An idle connection must not be closed while the worker sends the next request on it.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Sends the parts as fast as the client reads them. */
export function sendParts(reply: ServerResponse, parts: Iterable<string>): void {
  Readable.from(parts)
    .on("error", () => {})
    .pipe(reply);
}

/** Returns undefined if the client has closed the connection. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  return readText(request).catch(() => undefined);
}
