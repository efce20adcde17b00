import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A fault to inject. It applies to the first matching requests, `times` times. */
export type Fault = Wrong & {
  times?: number;
  /** Only requests with this method. */
  method?: string;
  /** Only requests whose path contains this. */
  path?: string;
};

type Wrong =
  /** The proxy responds itself. With `forwarded`, the server processes the request first. */
  | {
      kind: "answer";
      status: number;
      headers?: Record<string, string>;
      body?: unknown;
      forwarded?: boolean;
    }
  /** The connection is closed before the request reaches the server, or after the server has processed it. */
  | { kind: "cut"; forwarded?: boolean }
  /** The connection is closed after the headers and the first bytes of the body. */
  | { kind: "cut_body"; after_bytes: number }
  /** The stream is closed after this many events. With `clean`, it ends normally. */
  | { kind: "cut_stream"; after_events: number; clean?: boolean }
  /** The stream sends nothing after this many events, but the connection stays open. */
  | { kind: "stall_stream"; after_events: number }
  /** The request reaches the server after this delay. */
  | { kind: "delay"; ms: number }
  /** Another request is sent first, with the same key. */
  | { kind: "meanwhile"; request: { method: string; path: string; body: unknown } };

export interface Seen {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

export interface FaultProxy {
  origin: string;
  /** Replaces the remaining faults and clears the recorded requests. */
  set(faults: Fault[]): void;
  seen(): Seen[];
  /** Requests whose response is not complete. */
  connections(): number;
  close(): Promise<void>;
}

/** A proxy between client and server. Programs in other languages set faults and read recorded requests over HTTP:
 * `PUT /__proxy/faults` with a JSON array, `GET /__proxy/seen`. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let faults: Fault[] = [];
  let seen: Seen[] = [];
  let open = 0;
  const set = (next: Fault[]) => {
    faults = next.flatMap((fault) => Array.from({ length: fault.times ?? 1 }, () => fault));
    seen = [];
  };
  const take = ({ method, url = "" }: IncomingMessage): Fault | undefined => {
    const found = faults.findIndex(
      (fault) => (fault.method ?? method) === method && url.includes(fault.path ?? ""),
    );
    return found < 0 ? undefined : faults.splice(found, 1)[0];
  };
  const server = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray());
    if (incoming.url === "/__proxy/faults") {
      set(JSON.parse(String(body)) as Fault[]);
      outgoing.end();
    } else if (incoming.url === "/__proxy/seen") {
      outgoing.setHeader("content-type", "application/json").end(JSON.stringify(seen));
    } else {
      open++;
      outgoing.on("close", () => open--);
      seen.push({ method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers });
      await pass({ target, incoming, outgoing, body, fault: take(incoming) });
    }
  });
  // An idle connection must not be closed while a client sends the next request on it.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set,
    seen: () => seen,
    connections: () => open,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

interface Passing {
  target: string;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  body: Buffer;
  fault: Fault | undefined;
}

async function pass(passing: Passing): Promise<void> {
  const { fault, outgoing } = passing;
  const cut = () => outgoing.socket?.destroy();
  if (fault?.kind === "delay" && (await isGoneAfter(outgoing, fault.ms))) return;
  if (fault?.kind === "meanwhile") await another(passing, fault.request);
  if (fault?.kind === "cut" && !fault.forwarded) return void cut();
  if (fault?.kind === "answer" && !fault.forwarded) return answer(outgoing, fault);
  const response = await forward(passing).catch(() => undefined);
  if (!response) return void cut();
  if (fault?.kind === "cut" || fault?.kind === "answer") {
    await response.toArray();
    return fault.kind === "cut" ? void cut() : answer(outgoing, fault);
  }
  outgoing.writeHead(response.statusCode ?? 502, response.headers);
  outgoing.flushHeaders();
  outgoing.on("close", () => response.destroy());
  await relay(response, passing).catch(cut);
}

async function another(
  { target, incoming }: Passing,
  { method, path, body }: { method: string; path: string; body: unknown },
): Promise<void> {
  const headers = { authorization: incoming.headers.authorization ?? "", "content-type": "application/json" };
  const { status } = await fetch(target + path, { method, headers, body: JSON.stringify(body) });
  if (status >= 400) throw new Error(`The concurrent request returned ${status}.`);
}

/** Returns whether the client disconnected while waiting. */
async function isGoneAfter(outgoing: ServerResponse, ms: number): Promise<boolean> {
  const waited = AbortSignal.timeout(ms);
  await Promise.race([once(outgoing, "close"), once(waited, "abort")]);
  return outgoing.destroyed;
}

function answer(outgoing: ServerResponse, { status, headers, body = "" }: Fault & { kind: "answer" }): void {
  const isText = typeof body === "string";
  const type = isText ? "text/plain" : "application/problem+json";
  outgoing.writeHead(status, { "content-type": type, ...headers });
  outgoing.end(isText ? body : JSON.stringify(body));
}

async function forward({ target, incoming, body }: Passing): Promise<IncomingMessage> {
  const { connection: _, "transfer-encoding": __, ...headers } = incoming.headers;
  const onward = request(target + incoming.url, {
    method: incoming.method,
    headers: { ...headers, ...(body.length > 0 ? { "content-length": String(body.length) } : {}) },
    agent: false,
  });
  onward.end(body);
  const [response] = (await once(onward, "response")) as [IncomingMessage];
  return response;
}

async function relay(response: IncomingMessage, { outgoing, fault }: Passing): Promise<void> {
  const cut = () => outgoing.socket?.destroy();
  let events = 0;
  let bytes = 0;
  // Split the data after each event, so that "after two events" means exactly two.
  for await (const piece of fault?.kind.endsWith("_stream") ? byEvent(response) : response) {
    let rest = piece as Buffer;
    if (fault?.kind === "cut_body") rest = rest.subarray(0, fault.after_bytes - bytes);
    bytes += rest.length;
    await new Promise<void>((done) => outgoing.write(rest, () => done()));
    if (fault?.kind === "cut_body" && bytes >= fault.after_bytes) return void cut();
    if (rest.includes("\nid: ") || rest.subarray(0, 4).equals(Buffer.from("id: "))) events++;
    if (fault?.kind === "cut_stream" && events >= fault.after_events)
      return fault.clean ? void outgoing.end() : void cut();
    if (fault?.kind === "stall_stream" && events >= fault.after_events)
      return void (await once(outgoing, "close"));
  }
  outgoing.end();
}

async function* byEvent(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let kept = "";
  for await (const piece of source) {
    kept += piece.toString("latin1");
    for (let end = kept.indexOf("\n\n"); end >= 0; end = kept.indexOf("\n\n")) {
      yield Buffer.from(kept.slice(0, end + 2), "latin1");
      kept = kept.slice(end + 2);
    }
  }
  if (kept) yield Buffer.from(kept, "latin1");
}
