import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { answerParent } from "../support/child-process.ts";

/** Serves a proxy that passes requests and responses through without looking at them, and returns its port. */
answerParent(async (baseUrl: string) => {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    const { method = "POST", url = "/", headers } = incoming;
    const upstream = request(baseUrl.replace(/\/v1$/, url), { method, headers, agent }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(upstream);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
});
