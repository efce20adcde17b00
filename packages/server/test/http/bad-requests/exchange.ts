import { type IncomingHttpHeaders, request } from "node:http";
import { connect } from "node:net";

export interface Sent {
  method: string;
  /** Below /api/v1, or a whole address. */
  path: string;
  /** Bytes and text go as they are, everything else as JSON. */
  body?: unknown;
  /** Another key than the first admin's; null for none. */
  key?: string | null;
  /** Null leaves a header out, a list repeats it. */
  headers?: Record<string, string | string[] | null>;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

const DEADLINE_MS = 20_000;

/** One request as it stands, without the repairs that fetch makes. */
export function exchange(base: string, defaultKey: string, sent: Sent): Promise<Answer> {
  const { method, path, body, key = defaultKey, headers = {} } = sent;
  const { hostname, port, origin } = new URL(base);
  const bytes = body === undefined ? undefined : bytesOf(body);
  const all: NonNullable<Sent["headers"]> = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...(bytes ? { "content-type": "application/json", "content-length": String(bytes.length) } : {}),
    ...headers,
  };
  const given = Object.entries(all).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== null,
  );
  return new Promise((resolve, reject) => {
    const target = path.startsWith(origin) ? path.slice(origin.length) : new URL(base).pathname + path;
    const outgoing = request({ hostname, port, method, path: target, headers: Object.fromEntries(given) });
    outgoing.setTimeout(DEADLINE_MS, () => outgoing.destroy(new Error("no answer")));
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const { statusCode = 0, headers } = response;
        resolve({ status: statusCode, headers, text: Buffer.concat(chunks).toString() });
      });
    });
    outgoing.end(bytes);
  });
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

/** Bytes instead of a request; what the server says until it closes the connection. */
export function exchangeBytes(base: string, bytes: string | Buffer): Promise<Answer[]> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error("the connection stays open")));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", reject);
    socket.on("end", () => resolve(answersIn(Buffer.concat(chunks).toString())));
    socket.write(bytes);
  });
}

function answersIn(text: string): Answer[] {
  return text
    .split(/(?=^HTTP\/1\.1 )/m)
    .filter((part) => part !== "")
    .map((part) => {
      const [head = "", ...rest] = part.split("\r\n\r\n");
      const [first = "", ...lines] = head.split("\r\n");
      const headers = Object.fromEntries(
        lines.map((line) => [
          line.slice(0, line.indexOf(":")).toLowerCase(),
          line.slice(line.indexOf(":") + 2),
        ]),
      );
      return { status: Number(first.split(" ")[1]), headers, text: rest.join("\r\n\r\n") };
    });
}
