import { once } from "node:events";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

interface Answer {
  status: number;
  body: string;
}

/** Starts a proxy to a server that answers some of the worker's requests itself, without passing them on. */
export async function startRejectingProxy(
  origin: string,
  answer: (path: string, body: string) => Answer | undefined,
): Promise<{ url: string; stop(): void }> {
  const server = createServer(async (request, reply) => {
    const { method = "GET", url = "/", headers } = request;
    reply.on("error", () => {});
    const body = await buffer(request).catch(() => Buffer.alloc(0));
    const own = answer(url, body.toString());
    if (own) return reply.writeHead(own.status, { "content-type": "application/json" }).end(own.body);
    const upstream = sendRequest(new URL(url, origin), { method, headers }, (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.on("error", () => reply.destroy()).pipe(reply);
    });
    upstream.on("error", () => reply.destroy());
    reply.on("close", () => upstream.destroy());
    upstream.end(body);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
