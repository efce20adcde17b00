import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";

export interface Answer {
  status: number;
  body: Buffer;
}

export interface Outgoing {
  method: "GET" | "POST" | "PUT" | "HEAD";
  path: string;
  body?: object;
  /** Instead of a body: bytes as they come. */
  stream?: Readable;
  signal: AbortSignal;
  timeoutMs: number;
}

export interface HttpClient {
  send(outgoing: Outgoing): Promise<Answer>;
  /** The answer's bytes as they come; rejects where the status is not 200. */
  open(outgoing: Omit<Outgoing, "body" | "stream"> & { accept: string }): Promise<Readable>;
  close(): void;
}

export class HttpStatusError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(`The server answered ${status}: ${detail}`);
    this.status = status;
  }
}

/** Keep-alive connections to one server, with one key. */
export function createHttpClient({
  origin,
  key,
  ca,
}: {
  origin: string;
  key: string;
  /** Instead of the usual authorities. */
  ca?: string[];
}): HttpClient {
  const isTls = origin.startsWith("https:");
  const agent = isTls
    ? new HttpsAgent({ keepAlive: true, ...(ca ? { ca } : {}) })
    : new HttpAgent({ keepAlive: true });
  const start = isTls ? httpsRequest : httpRequest;

  function begin({ method, path, body, stream, signal, timeoutMs, accept }: Outgoing & { accept?: string }) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = start(`${origin}/api/v1/worker${path}`, {
      method,
      agent,
      signal,
      timeout: timeoutMs,
      headers: {
        authorization: `Bearer ${key}`,
        ...(accept ? { accept } : {}),
        ...(text === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
        ...(stream ? { "content-type": "application/octet-stream" } : {}),
      },
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("The server did not answer in time.")));
    if (stream) stream.on("error", (error) => outgoing.destroy(error)).pipe(outgoing);
    else outgoing.end(text);
    return outgoing;
  }

  return {
    send: (outgoing) =>
      new Promise((resolve, reject) => {
        const request = begin(outgoing);
        request.on("error", reject);
        request.on("response", (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }),
          );
        });
      }),
    open: (outgoing) =>
      new Promise((resolve, reject) => {
        const request = begin(outgoing);
        request.on("error", reject);
        request.on("response", (response) => {
          if (response.statusCode === 200) return resolve(response);
          response.resume();
          reject(new HttpStatusError(response.statusCode ?? 0, "no stream"));
        });
      }),
    close: () => agent.destroy(),
  };
}
