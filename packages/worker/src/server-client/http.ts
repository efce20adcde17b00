import type { Readable } from "node:stream";
import { traceHeaders } from "@outrider/telemetry/spans";
import { Pool } from "undici";

export interface HttpResponse {
  status: number;
  body: Buffer;
}

export interface HttpRequest {
  method: "GET" | "POST" | "PUT" | "HEAD";
  path: string;
  body?: object;
  /** The request body as JSON text, instead of `body`. */
  json?: string;
  /** The request body as bytes, instead of `body`. */
  content?: Readable | Buffer;
  signal: AbortSignal;
  /** The maximum time without progress, both before the response and between its chunks. */
  timeoutMs: number;
  /** The size of `content`, if it is a stream whose size is known. */
  contentLength?: number;
}

export interface HttpClient {
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Returns the response body as a stream. Rejects unless the status is 200. */
  open(
    request: Omit<HttpRequest, "body" | "json" | "content"> & {
      accept: string;
      /** Opens the URL of a redirect. Without it, a redirect rejects. */
      onRedirect?: (url: string) => Promise<Readable>;
    },
  ): Promise<Readable>;
  close(): void;
}

export class HttpStatusError extends Error {
  readonly status: number;
  /** What the server says about the error. */
  readonly detail: string;

  constructor(status: number, detail: string) {
    super(`The server responded with ${status}: ${detail}`);
    this.status = status;
    this.detail = detail;
  }
}

/** Creates a client with keep-alive connections to one server, authenticated with one key. */
export function createHttpClient({
  origin,
  key,
  ca,
}: {
  origin: string;
  key: string;
  /** Replaces the default certificate authorities. */
  ca?: string[];
}): HttpClient {
  const pool = new Pool(origin, ca ? { connect: { ca } } : {});

  function request({
    method,
    path,
    body,
    json = body && JSON.stringify(body),
    content,
    signal,
    timeoutMs,
    contentLength,
    accept,
  }: HttpRequest & { accept?: string }) {
    return pool.request({
      method,
      path: `/api/v1/worker${path}`,
      signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      body: json ?? content ?? null,
      headers: {
        authorization: `Bearer ${key}`,
        ...traceHeaders(),
        ...(accept ? { accept } : {}),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(content ? { "content-type": "application/octet-stream" } : {}),
        ...(contentLength === undefined ? {} : { "content-length": String(contentLength) }),
      },
    });
  }

  return {
    async send(options) {
      const { statusCode, body } = await request(options);
      return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) };
    },
    async open({ onRedirect, ...options }) {
      const { statusCode, headers, body } = await request(options);
      // A stream that fails before the caller reads it must not crash the worker. A later reader still gets the error.
      body.on("error", () => {});
      if (statusCode === 200) return body;
      await body.dump();
      if (statusCode === 307 && onRedirect && typeof headers.location === "string")
        return onRedirect(headers.location);
      throw new HttpStatusError(statusCode, "expected a stream");
    },
    close: () => void pool.destroy(),
  };
}
