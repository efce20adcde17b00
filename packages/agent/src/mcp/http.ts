import type { Readable } from "node:stream";
import { MESSAGE_BYTES } from "./transport.ts";

export interface HttpRequest {
  method: "GET" | "POST" | "DELETE";
  url: URL;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface HttpAnswer {
  status: number;
  header(name: string): string | undefined;
  /** To be read or destroyed. */
  body: Readable;
}

/** One request and the head of its answer, whatever its status; nothing is followed. */
export type Send = (request: HttpRequest) => Promise<HttpAnswer>;

const SHOWN_LETTERS = 2_000;
const REDIRECTS = 3;

/** The server answered with a status that says no. */
export class HttpRefusal extends Error {
  override name = "HttpRefusal";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Sends to one origin and no other: headers hold keys, and a redirect must not carry them away. Within the origin, those
 * are followed that keep the method, as from /mcp to /mcp/.
 */
export async function sendWithin(send: Send, request: HttpRequest): Promise<HttpAnswer> {
  let { url } = request;
  for (let redirects = 0; ; redirects++) {
    const answer = await send({ ...request, url });
    const location = answer.status >= 300 && answer.status < 400 ? answer.header("location") : undefined;
    if (location === undefined) return answer;
    answer.body.destroy();
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    const keepsMethod = answer.status === 307 || answer.status === 308;
    if (next?.origin !== url.origin || !keepsMethod || redirects === REDIRECTS) {
      const where = next ? `${next.origin}${next.pathname}` : "no address";
      throw new HttpRefusal(
        answer.status,
        `It answered ${answer.status}, a redirect to ${where}, which is not followed. Write the address that is meant as \`url\`.`,
      );
    }
    url = next;
  }
}

/** What an answer that says no has to say. */
export async function refusalOf({ status, body }: HttpAnswer): Promise<HttpRefusal> {
  let said = "";
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      said += chunk.toString();
      if (said.length > SHOWN_LETTERS) break;
    }
  } catch {
    // What came is what can be told.
  }
  body.destroy();
  const text = said.slice(0, SHOWN_LETTERS).trim();
  return new HttpRefusal(status, `It answered ${status}${text === "" ? "." : `: ${text}`}`);
}

export async function wholeText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MESSAGE_BYTES) throw new Error(`It sent an answer of more than ${MESSAGE_BYTES} bytes.`);
  }
  return Buffer.concat(chunks).toString();
}

export function isOk({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

/** The media type alone. */
export function typeOf(answer: HttpAnswer): string {
  return (answer.header("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
