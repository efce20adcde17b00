/**
 * The only way by which the server calls other services: forges and model providers. Their clients use this `fetch`, which
 * limits time, size and nesting of responses, checks addresses, and follows redirects only within the same origin, because
 * each request carries a credential.
 */
import { type LookupAddress, lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Agent, type Dispatcher, ProxyAgent, request } from "undici";
import { type AllowedAddresses, parseAllowedAddresses, parseDirectHosts } from "./allowed-addresses.ts";
import { OutboundError } from "./outbound-error.ts";

export interface OutboundNetworkSettings {
  /** OUTRIDER_ALLOW_ADDRESSES */
  allowedAddresses?: string;
  /** OUTRIDER_UPSTREAM_PROXY, or HTTPS_PROXY */
  upstreamProxy?: string;
  /** OUTRIDER_NO_PROXY, or NO_PROXY */
  noProxy?: string;
  /** Whether loopback addresses may be called, also without TLS. */
  allowsLoopback?: boolean;
  /** Set if the operator chose every URL, so that addresses need no check. */
  allowsAll?: boolean;
}

export interface OutboundFetchOptions {
  timeoutMs?: number;
  maxBytes?: number;
}

export type OutboundFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1024 ** 2;
const MAX_DEPTH = 64;
const MAX_REDIRECTS = 3;
const MAX_DISPATCHERS = 100;

export class OutboundNetwork {
  #allowed: AllowedAddresses;
  #settings: OutboundNetworkSettings;
  /** Whether a host is reached without the proxy. */
  #isDirect: (url: URL) => boolean;
  #dispatchers = new Map<string, Dispatcher>();

  constructor(settings: OutboundNetworkSettings = {}) {
    this.#settings = settings;
    const { allowedAddresses, allowsLoopback, allowsAll } = settings;
    const loopback = allowsLoopback ? `localhost, 127.0.0.0/8, [::1]` : "";
    const listed = [allowedAddresses ?? "", loopback].filter(Boolean).join(", ");
    this.#allowed = allowsAll ? allAddresses : parseAllowedAddresses(listed);
    const isDirect = parseDirectHosts(settings.noProxy);
    this.#isDirect = (url) => isDirect({ host: url.hostname, port: portOf(url) });
  }

  /** Returns a `fetch` for one service. It throws a OutboundError if there is no complete response. */
  fetch({ timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES }: OutboundFetchOptions = {}): OutboundFetch {
    return async (input, init = {}) => {
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
      let url = new URL(input);
      for (let redirects = 0; ; redirects++) {
        const response = await this.#send(url, { ...init, signal }, { maxBytes, timeoutMs });
        const location = response.headers.get("location");
        if (response.status < 300 || response.status >= 400 || response.status === 304 || !location)
          return response;
        // The caller reads the location itself.
        if (init.redirect === "manual") return response;
        const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
        if (next?.origin !== url.origin || redirects >= MAX_REDIRECTS) {
          throw new OutboundError(
            "invalid",
            `${url.host} redirects to ${next?.host ?? "an invalid address"}. Use the address that it redirects to.`,
          );
        }
        url = next;
      }
    };
  }

  /** Throws a OutboundError if the URL must not be called. A name that cannot be resolved is not rejected. */
  async requireAllowed(input: string): Promise<void> {
    const url = new URL(input);
    this.#check(url);
    const { hostname: host } = url;
    if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || (this.#settings.upstreamProxy && !this.#isDirect(url)))
      return;
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    this.#lookup(portOf(url))(host, {}, (error) => resolve(error));
    const error = await promise;
    if (error instanceof OutboundError) throw error;
  }

  async close(): Promise<void> {
    const all = [...this.#dispatchers.values()];
    this.#dispatchers.clear();
    await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
  }

  async #send(
    url: URL,
    init: RequestInit & { signal: AbortSignal },
    { maxBytes, timeoutMs }: Required<OutboundFetchOptions>,
  ): Promise<Response> {
    this.#check(url);
    try {
      const { statusCode, headers, body } = await request(url, {
        method: (init.method ?? "GET") as Dispatcher.HttpMethod,
        headers: Object.fromEntries(new Headers(init.headers)),
        body: (init.body ?? null) as string | Buffer | null,
        dispatcher: this.#dispatcherFor(url),
        signal: init.signal,
      });
      const bytes = await readAtMost(body, maxBytes, url);
      const fields = Object.entries(headers).flatMap(([name, value]) =>
        [value ?? []].flat().map((item): [string, string] => [name, item]),
      );
      if (String(headers["content-type"] ?? "").includes("json")) requireShallow(bytes, url);
      const isEmpty = [204, 205, 304].includes(statusCode);
      return new Response(isEmpty ? null : new Uint8Array(bytes), { status: statusCode, headers: fields });
    } catch (error) {
      throw error instanceof OutboundError
        ? error
        : unreachable(url, error as NodeJS.ErrnoException, timeoutMs);
    }
  }

  #check(url: URL): void {
    const target = { host: url.hostname, port: portOf(url), address: url.hostname };
    const address = url.hostname.replace(/^\[|\]$/g, "");
    if (isIP(address) !== 0 && !this.#allowed.allows(target)) throw notAllowed(url.host);
    if (url.protocol === "http:" && !this.#allowed.names(target)) {
      throw new OutboundError(
        "forbidden",
        `${url.host} must be called with https. The operator can allow http by adding the host to OUTRIDER_ALLOW_ADDRESSES.`,
      );
    }
  }

  #dispatcherFor(url: URL): Dispatcher {
    const known = this.#dispatchers.get(url.origin);
    if (known) return known;
    const oldest = this.#dispatchers.keys().next().value;
    if (this.#dispatchers.size >= MAX_DISPATCHERS && oldest !== undefined) {
      void this.#dispatchers.get(oldest)?.close();
      this.#dispatchers.delete(oldest);
    }
    const dispatcher = this.#open(url);
    this.#dispatchers.set(url.origin, dispatcher);
    return dispatcher;
  }

  #open(url: URL): Dispatcher {
    const { upstreamProxy } = this.#settings;
    if (upstreamProxy && !this.#isDirect(url)) return new ProxyAgent({ uri: upstreamProxy });
    return new Agent({ connect: { lookup: this.#lookup(portOf(url)), timeout: 10_000 } });
  }

  /** Resolves names to allowed addresses only, in the same step as the connection, so that the answer cannot change. */
  #lookup(port: number): LookupFunction {
    return (host, options, callback) => {
      lookup(host, { ...options, all: true }, (error, found) => {
        if (error) return callback(error, "");
        const allowed = (found as LookupAddress[]).filter(({ address }) =>
          this.#allowed.allows({ host, port, address }),
        );
        const [first] = allowed;
        if (!first) return callback(notAllowed(host), "");
        if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      });
    };
  }
}

const allAddresses: AllowedAddresses = { allows: () => true, names: () => true };

function portOf({ port, protocol }: URL): number {
  return Number(port || (protocol === "http:" ? 80 : 443));
}

async function readAtMost(body: AsyncIterable<Buffer>, maxBytes: number, { host }: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes)
      throw new OutboundError("invalid", `${host} sent a response of more than ${maxBytes / 1024 ** 2} MiB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Deeply nested JSON overflows the stack of parsers. */
function requireShallow(bytes: Buffer, { host }: URL): void {
  let depth = 0;
  let isString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isString) {
      if (byte === 0x5c) index++;
      else if (byte === 0x22) isString = false;
    } else if (byte === 0x22) isString = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > MAX_DEPTH)
        throw new OutboundError("invalid", `${host} sent JSON that is nested too deeply.`);
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
}

function notAllowed(host: string): OutboundError {
  return new OutboundError(
    "forbidden",
    `${host} has a private address. The operator of the server can allow it with OUTRIDER_ALLOW_ADDRESSES.`,
  );
}

function unreachable({ host }: URL, error: NodeJS.ErrnoException, timeoutMs: number): OutboundError {
  const cause = (error.cause ?? error) as NodeJS.ErrnoException;
  if (cause instanceof OutboundError) return cause;
  const code = cause.code ?? error.code ?? "";
  const options = { cause: error };
  if (error.name === "TimeoutError" || /TIMEDOUT|TIMEOUT/.test(code))
    return new OutboundError(
      "unreachable",
      `${host} did not respond within ${timeoutMs / 1_000} s.`,
      options,
    );
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/.test(code)) {
    return new OutboundError(
      "unreachable",
      `The certificate of ${host} is not trusted (${code}). Set OUTRIDER_EXTRA_CA to a file with its authority.`,
      options,
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return new OutboundError("unreachable", `The host name ${host} cannot be resolved.`, options);
  if (code === "ECONNREFUSED")
    return new OutboundError("unreachable", `${host} refused the connection.`, options);
  return new OutboundError("unreachable", `${host} cannot be reached${code ? ` (${code})` : ""}.`, options);
}
