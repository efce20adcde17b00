import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { parseExceptions } from "../src/egress/exceptions.ts";
import type { EgressPolicy } from "../src/egress/policy.ts";
import { type EgressOptions, serveEgress } from "../src/egress/proxy.ts";
import type { Refusal } from "../src/egress/refusals.ts";

const closers: (() => unknown)[] = [];

/** Closes whatever a test has started, latest first. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export function closeLater(close: () => unknown): void {
  closers.push(close);
}

/** A server of the test on loopback; returns its port. */
export async function serve(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closeLater(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type Options = Partial<Omit<EgressOptions, "exceptions" | "listener">> & { exceptions?: string };

/** A proxy on loopback, open unless told otherwise; names it is not told of do not resolve. */
export async function startProxy({ exceptions = "", ...options }: Options = {}) {
  const refusals: Refusal[] = [];
  const warnings: object[] = [];
  const asked: string[] = [];
  const { lookup } = options;
  const listener = createServer();
  const egress = serveEgress({
    policy: { mode: "open", allow: [] },
    refused: (refusal) => refusals.push(refusal),
    log: { warn: (fields) => warnings.push(fields) },
    ...options,
    listener,
    exceptions: parseExceptions(exceptions),
    lookup: async (name) => {
      asked.push(name);
      if (!lookup) throw new Error("no such name");
      return lookup(name);
    },
  });
  const port = await serve(listener);
  closeLater(() => egress.close());
  return { port, url: `http://127.0.0.1:${port}`, egress, refusals, warnings, asked };
}

export const listOf = (...allow: string[]): EgressPolicy => ({ mode: "allowlist", allow });

/** Says something and returns all that is said until the other side ends. */
export async function say(port: number, text: string | Buffer): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
  socket.write(text);
  await Promise.race([once(socket, "end"), once(socket, "close")]);
  socket.destroy();
  return Buffer.concat(chunks).toString("latin1");
}

/** A tunnel, once the proxy has said 200. */
export async function tunnel(port: number, target: string): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  closeLater(() => socket.destroy());
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  let head = "";
  while (!head.endsWith("\r\n\r\n")) {
    const byte = socket.read(1) as Buffer | null;
    if (byte) head += byte.toString("latin1");
    else
      await Promise.race([
        once(socket, "readable"),
        once(socket, "end").then(() => Promise.reject(new Error(head))),
      ]);
  }
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(head);
  return socket;
}

/** All that a socket still has to say. */
export async function rest(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}
