import type { Readable } from "node:stream";
import { ByteBuffer } from "../byte-buffer.ts";
import { MAX_MESSAGE_BYTES } from "./messages/message.ts";

export interface HttpRequest {
  method: "GET" | "HEAD" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface HttpResponse {
  status: number;
  header(name: string): string | undefined;
  /** The caller must read or destroy the body. */
  body: Readable;
}

/**
 * Sends one request and returns the response, whatever its status, as soon as the headers have arrived. Does not follow
 * redirects.
 */
export type Send = (request: HttpRequest) => Promise<HttpResponse>;

/**
 * The maximum number of characters that an error quotes from an invalid response. The caller redacts the text and then
 * shortens it further.
 */
export const MAX_QUOTED_CHARACTERS = 16_000;
const MAX_REDIRECTS = 3;

/** Thrown when the server responds with an error status. */
export class HttpError extends Error {
  override name = "HttpError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Sends a request and follows redirects that preserve the method, such as the one from /mcp to /mcp/. Does not follow
 * redirects to another origin, because the headers contain keys.
 */
export async function sendToOrigin(send: Send, request: HttpRequest): Promise<HttpResponse> {
  let { url } = request;
  for (let redirects = 0; ; redirects++) {
    const response = await send({ ...request, url });
    const location =
      response.status >= 300 && response.status < 400 ? response.header("location") : undefined;
    if (location === undefined) return response;
    response.body.destroy();
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    const keepsMethod = response.status === 307 || response.status === 308;
    if (next?.origin !== url.origin || !keepsMethod || redirects === MAX_REDIRECTS) {
      const target = next ? `${next.origin}${next.pathname}` : "an invalid URL";
      throw new HttpError(
        response.status,
        `The server responded with ${response.status}, a redirect to ${target}, which is not followed. Set \`url\` to the final address.`,
      );
    }
    url = next;
  }
}

/** Creates an error from an error response. */
export async function readHttpError({ status, body }: HttpResponse): Promise<HttpError> {
  let text = "";
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString();
      if (text.length > MAX_QUOTED_CHARACTERS) break;
    }
  } catch {
    // The text received so far is sufficient for the message.
  }
  body.destroy();
  const message = text.slice(0, MAX_QUOTED_CHARACTERS).trim();
  return new HttpError(status, `The server responded with ${status}${message === "" ? "." : `: ${message}`}`);
}

export async function readBody(body: Readable): Promise<Buffer> {
  const bytes = new ByteBuffer();
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes.append(chunk);
    if (bytes.length > MAX_MESSAGE_BYTES)
      throw new Error(`The server sent a response of more than ${MAX_MESSAGE_BYTES} bytes.`);
  }
  return bytes.take();
}

export function isOk({ status }: HttpResponse): boolean {
  return status >= 200 && status < 300;
}

/** Returns the media type without its parameters. */
export function mediaTypeOf(response: HttpResponse): string {
  return (response.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
