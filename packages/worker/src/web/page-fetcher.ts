/**
 * Fetches pages for the agent's `fetch_url` tool.
 *
 * The worker sends the requests, but with the rights of the sandbox: every connection goes through a `dial` that
 * applies the environment's network policy and refuses private addresses, also after a redirect. Requests contain no
 * credentials. Pages are hostile, so their size, their redirects and the time for all of it are limited.
 */
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import type { HttpResponse } from "@outrider/agent/mcp/http";
import type { FetchPage } from "@outrider/agent/tools/fetch-url";
import type { FetchedPage } from "@outrider/agent/tools/page-text/page-text";
import type { Dial } from "../egress/dial.ts";
import type { Exceptions } from "../egress/exceptions.ts";
import { openRemote, type Remote } from "../mcp/remote.ts";

const MAX_BODY_BYTES = 2 * 2 ** 20;
const MAX_REDIRECTS = 5;
const TIMEOUT_MS = 60_000;

const headers = {
  "user-agent": "Outrider (fetch_url)",
  accept: "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5",
  "accept-language": "en, *;q=0.5",
  "accept-encoding": "gzip, deflate, br",
};

export interface PageFetcher {
  fetchPage: FetchPage;
  /** Closes all connections. */
  close(): void;
}

export function openPageFetcher({
  dial,
  exceptions,
  timeoutMs = TIMEOUT_MS,
}: {
  dial: Dial;
  exceptions: Exceptions;
  timeoutMs?: number;
}): PageFetcher {
  // Opened by the first call, because most runs fetch nothing.
  let remote: Remote | undefined;
  const fetchPage: FetchPage = async (first, callSignal) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([callSignal, timeout]);
    let url = first;
    remote ??= openRemote({ exceptions, dial, allowsPlainHttp: true });
    try {
      for (let redirects = 0; ; redirects++) {
        const response = await remote.send({ method: "GET", url, headers, signal });
        const target = redirectTarget(response, url);
        if (!target) return await readPage(response, url);
        response.body.destroy();
        if (redirects === MAX_REDIRECTS) throw new Error("The URL redirects too many times.");
        url = target;
      }
    } catch (error) {
      callSignal.throwIfAborted();
      if (timeout.aborted) throw new Error(`${url.host} did not respond within ${timeoutMs / 1000} s.`);
      throw error;
    }
  };
  return { fetchPage, close: () => remote?.close() };
}

function redirectTarget({ status, header }: HttpResponse, url: URL): URL | undefined {
  const location = header("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  if (!target || !/^https?:$/.test(target.protocol) || target.username || target.password)
    throw new Error("The URL redirects to an address that is not a plain http or https URL.");
  return target;
}

async function readPage(response: HttpResponse, url: URL): Promise<FetchedPage> {
  const { status, header, body } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  const decoded = decompress(body, header("content-encoding") ?? "");
  try {
    for await (const chunk of decoded) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) break;
    }
  } finally {
    decoded.destroy();
    body.destroy();
  }
  return {
    url: url.href,
    status,
    contentType: header("content-type") ?? "",
    body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES),
    isTruncated: bytes > MAX_BODY_BYTES,
  };
}

function decompress(body: Readable, encoding: string): Readable {
  switch (encoding.trim().toLowerCase()) {
    case "":
    case "identity":
      return body;
    case "gzip":
      return forwardErrors(body, createGunzip());
    case "deflate":
      return forwardErrors(body, createInflate());
    case "br":
      return forwardErrors(body, createBrotliDecompress());
    default:
      throw new Error(
        `The server compressed the page as ${JSON.stringify(encoding.slice(0, 50))}, which is not supported.`,
      );
  }
}

function forwardErrors(body: Readable, decoder: ReturnType<typeof createGunzip>): Readable {
  body.on("error", (error) => decoder.destroy(error));
  return body.pipe(decoder);
}
