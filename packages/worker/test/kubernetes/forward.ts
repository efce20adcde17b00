/**
 * Connects the network of a test cluster with that of the tests through Unix sockets, which network namespaces do not separate.
 * As a program, `forward.ts FROM TO`, where each is a path or `HOST:PORT`.
 */
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";

type Address = string | { host: string; port: number };

/** Passes each connection to `from` on to `to`, until the server is closed. */
export async function forward(from: Address, to: Address): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    const options = typeof to === "string" ? { path: to } : to;
    const outgoing = connect({ ...options, allowHalfOpen: true });
    incoming.pipe(outgoing).pipe(incoming);
    incoming.on("error", () => outgoing.destroy());
    outgoing.on("error", () => incoming.destroy());
    incoming.on("close", () => outgoing.destroy());
    outgoing.on("close", () => incoming.destroy());
  });
  server.listen(typeof from === "string" ? { path: from } : from);
  await once(server, "listening");
  return server;
}

function parseAddress(text = ""): Address {
  const colon = text.lastIndexOf(":");
  return text.startsWith("/") ? text : { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
}

if (import.meta.main) await forward(parseAddress(process.argv[2]), parseAddress(process.argv[3]));
