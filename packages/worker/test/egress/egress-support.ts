import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import type { EgressPolicy } from "../../src/egress/policy.ts";
import { type EgressOptions, serveEgress } from "../../src/egress/proxy.ts";
import type { EgressRefusal } from "../../src/egress/refusal-reporter.ts";
import { silentLog } from "../../src/log.ts";

const closers: (() => unknown)[] = [];

/** Closes everything that a test has started, in reverse order. */
export async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export function closeLater(close: () => unknown): void {
  closers.push(close);
}

/** Starts a server on loopback and returns its port. */
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

export type ProxyOptions = Partial<Omit<EgressOptions, "exceptions" | "listener">> & { exceptions?: string };

/** Creates a proxy, by default in open mode. Without `lookup`, no name resolves. */
export function createProxy({ exceptions = "", ...options }: ProxyOptions = {}, listener?: Server) {
  const refusals: EgressRefusal[] = [];
  const warnings: object[] = [];
  const lookups: string[] = [];
  const { lookup } = options;
  const egress = serveEgress({
    policy: { mode: "open", allow: [] },
    onRefused: (refusal) => refusals.push(refusal),
    log: { ...silentLog, warn: (fields) => warnings.push(fields) },
    ...options,
    ...(listener ? { listener } : {}),
    exceptions: parseExceptions(exceptions),
    lookup: async (name) => {
      lookups.push(name);
      if (!lookup) throw new Error("no such name");
      return lookup(name);
    },
  });
  return { egress, refusals, warnings, lookups };
}

/** Starts a proxy on loopback. */
export async function startProxy(options: ProxyOptions = {}) {
  const listener = createServer();
  const proxy = createProxy(options, listener);
  const port = await serve(listener);
  closeLater(() => proxy.egress.close());
  return { ...proxy, port, url: `http://127.0.0.1:${port}` };
}

export const allowlist = (...allow: string[]): EgressPolicy => ({ mode: "allowlist", allow });

/** Sends data and returns everything received until the other side ends. */
export async function send(port: number, text: string | Buffer): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
  socket.write(text);
  await Promise.race([once(socket, "end"), once(socket, "close")]);
  socket.destroy();
  return Buffer.concat(chunks).toString("latin1");
}

/** Opens a tunnel and waits for the proxy's 200. */
export async function openTunnel(port: number, target: string): Promise<Socket> {
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
        ...["end", "close"].map((event) => once(socket, event).then(() => Promise.reject(new Error(head)))),
      ]);
  }
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(head);
  return socket;
}

/** Returns everything that a socket receives until its end. */
export async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk);
  return Buffer.concat(chunks).toString("latin1");
}
