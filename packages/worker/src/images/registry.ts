/**
 * A client for the OCI distribution API. It pulls, and pushes if it has the scope for it (push-image.ts).
 *
 * Callers choose the registry, and the registry chooses redirects and the address of its token server. All of them are
 * hostile: every connection goes through `openRemote`, which reaches only public addresses and those that the operator
 * allows. Credentials are sent to the registry itself and to its token server, never to the target of a redirect.
 */

import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import type { HttpResponse } from "@outrider/agent/mcp/http";
import { RefusedError } from "../egress/egress-errors.ts";
import type { Remote, RemoteRequest } from "../mcp/remote.ts";
import { type Challenge, parseChallenges } from "./challenge.ts";
import type { Credentials } from "./credentials.ts";
import { corrupt, ImageError, unreachable } from "./image-error.ts";
import { readBody } from "./read-body.ts";
import { apiHost, type Reference } from "./reference.ts";
import { causeOf, codeOf, isTemporary, StatusError } from "./registry-errors.ts";

const HEADERS_MS = 60_000;
const MAX_REDIRECTS = 5;
const MAX_ATTEMPTS = 4;
const MAX_TOKEN_BYTES = 2 ** 20;
/** Node's codes for a server that does not speak TLS. Never a certificate that is not trusted. */
const noTlsCodes = ["EPROTO", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"];

export interface RegistryOptions {
  reference: Reference;
  credentials: Credentials | undefined;
  remote: Remote;
  signal: AbortSignal;
  /** What a token must allow. Default: to pull the repository. */
  scopes?: string[];
  /** How long to wait before the first retry. */
  retryMs?: number;
}

interface RegistryRequest {
  method?: "GET" | "HEAD" | "POST" | "PATCH" | "PUT";
  accept?: string;
  /** The first byte to send. */
  offset?: number;
  body?: RequestBody;
  /** Whether the caller repeats it if it fails. */
  isSentOnce?: boolean;
}

interface RequestBody {
  type: string;
  size: number;
  /** Called for each attempt. */
  open(): AsyncIterable<Buffer>;
}

export class Registry {
  readonly #options: RegistryOptions;
  readonly #host: string;
  #protocol: "https:" | "http:" = "https:";
  #authorization: string | undefined;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#host = apiHost(options.reference.registry);
  }

  /**
   * Requests `manifests/TAG`, `manifests/DIGEST`, `blobs/DIGEST` or the location of an upload, and returns a response with a
   * status of 2xx.
   */
  async request(path: string | URL, request: RegistryRequest = {}): Promise<HttpResponse> {
    const { retryMs = 1_000, signal } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#requestOnce(path, request);
      } catch (error) {
        if (attempt === MAX_ATTEMPTS || request.isSentOnce || !isTemporary(error)) throw error;
        await pause(retryMs * 2 ** (attempt - 1), undefined, { signal });
      }
    }
  }

  /** Returns where the registry expects the next request of an upload. */
  locationOf(response: HttpResponse): URL {
    const location = response.header("location") ?? "";
    const base = this.#url("blobs/uploads/");
    const target = URL.canParse(location, base.href) ? new URL(location, base) : undefined;
    if (!target || location === "" || !isPlainUrl(target))
      throw corrupt("The registry names no valid location for an upload.");
    // Behind a proxy that terminates TLS, some registries do not know their own protocol.
    if (target.host === base.host) target.protocol = base.protocol;
    return target;
  }

  async #requestOnce(path: string | URL, request: RegistryRequest): Promise<HttpResponse> {
    const first = await this.#follow(path, request);
    if (first.status !== 401) return await this.#checkStatus(first);
    first.body.destroy();
    this.#authorization = await this.#authorize(first);
    return await this.#checkStatus(await this.#follow(path, request));
  }

  /** Sends a request and follows redirects. */
  async #follow(
    path: string | URL,
    { method = "GET", accept, offset = 0, body }: RegistryRequest,
  ): Promise<HttpResponse> {
    const headers = {
      "user-agent": "Outrider",
      ...(accept === undefined ? {} : { accept }),
      ...(offset > 0 ? { range: `bytes=${offset}-` } : {}),
      ...(body ? { "content-type": body.type, "content-length": String(body.size) } : {}),
    };
    let response = await this.#sendToRegistry(path, { method, headers }, body);
    if (method !== "GET" && method !== "HEAD") return response;
    let url = this.#url(path);
    for (let redirects = 0; ; redirects++) {
      const next = redirectTarget(response, url);
      if (!next) return response;
      response.body.destroy();
      if (redirects === MAX_REDIRECTS) throw unreachable("The registry redirects too many times.");
      url = next;
      const isRegistry = url.origin === this.#url(path).origin;
      response = await this.#send({ method, url, headers: isRegistry ? this.#authorized(headers) : headers });
    }
  }

  /** Uses HTTPS. If the server does not speak TLS, tries plain HTTP, which works only where the operator allows it. */
  async #sendToRegistry(
    path: string | URL,
    request: Pick<RemoteRequest, "method" | "headers">,
    body: RequestBody | undefined,
  ): Promise<HttpResponse> {
    const send = () => {
      const url = this.#url(path);
      const isRegistry = url.origin === this.#url("").origin;
      const headers = isRegistry ? this.#authorized(request.headers) : request.headers;
      return this.#send({ ...request, url, headers }, body);
    };
    try {
      return await send();
    } catch (error) {
      if (this.#protocol === "http:" || !noTlsCodes.includes(codeOf(error))) throw error;
      this.#protocol = "http:";
    }
    try {
      return await send();
    } catch (error) {
      this.#protocol = "https:";
      if (!(causeOf(error) instanceof RefusedError)) throw error;
      throw new ImageError(
        "unreachable",
        `The registry ${this.#host} does not support HTTPS, and plain HTTP is not allowed.`,
        "Use a registry with HTTPS, or ask the operator to allow its address.",
        { cause: error },
      );
    }
  }

  #url(path: string | URL): URL {
    if (path instanceof URL) return path;
    return new URL(`${this.#protocol}//${this.#host}/v2/${this.#options.reference.repository}/${path}`);
  }

  #authorized(headers: Record<string, string>): Record<string, string> {
    return this.#authorization === undefined ? headers : { ...headers, authorization: this.#authorization };
  }

  async #send(request: Omit<RemoteRequest, "signal" | "body">, body?: RequestBody): Promise<HttpResponse> {
    const { remote, signal } = this.#options;
    const timeout = new AbortController();
    const late = unreachable(`${request.url.host} did not respond within ${HEADERS_MS / 1000} s.`);
    const timer = setTimeout(() => timeout.abort(late), HEADERS_MS);
    try {
      const content = body && Readable.from(readExactly(body, () => timer.refresh()));
      return await remote.send({
        ...{ ...request, signal: AbortSignal.any([signal, timeout.signal]) },
        ...(content ? { body: content } : {}),
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ImageError) throw error;
      throw unreachable((error as Error).message, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns the `Authorization` header that the registry's challenge asks for. */
  async #authorize(response: HttpResponse): Promise<string> {
    const challenges = parseChallenges(response.header("www-authenticate") ?? "");
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    if (bearer) return `Bearer ${await this.#fetchToken(bearer)}`;
    const basic = challenges.find(({ scheme }) => scheme === "basic") && this.#basic();
    if (!basic) throw this.#unauthorized();
    return basic;
  }

  #basic(): string | undefined {
    const { credentials } = this.#options;
    if (!credentials) return undefined;
    return `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
  }

  async #fetchToken({ parameters }: Challenge): Promise<string> {
    const { reference, scopes = [`repository:${reference.repository}:pull`] } = this.#options;
    const realm = parameters.get("realm") ?? "";
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    if (!url || !isPlainUrl(url)) throw corrupt("The registry names no valid token server.");
    const service = parameters.get("service");
    if (service !== undefined) url.searchParams.set("service", service);
    // Never more than the caller needs, whatever the registry asks for.
    url.searchParams.delete("scope");
    for (const scope of scopes) url.searchParams.append("scope", scope);
    const basic = this.#basic();
    const response = await this.#send({
      method: "GET",
      url,
      headers: { "user-agent": "Outrider", ...(basic === undefined ? {} : { authorization: basic }) },
    });
    if (response.status === 401 || response.status === 403) {
      response.body.destroy();
      throw this.#unauthorized();
    }
    const body = await readBody((await this.#checkStatus(response)).body, MAX_TOKEN_BYTES);
    const token = tokenIn(body);
    if (token === undefined) throw corrupt("The registry's token server returned no token.");
    return token;
  }

  async #checkStatus(response: HttpResponse): Promise<HttpResponse> {
    const { status, body } = response;
    if (status >= 200 && status < 300) return response;
    body.destroy();
    const { reference } = this.#options;
    if (status === 401 || status === 403) throw this.#unauthorized();
    if (status === 404) {
      throw new ImageError(
        "not_found",
        `The registry ${reference.registry} does not have the image ${reference.text}.`,
        "Check the image's name and tag.",
      );
    }
    throw new StatusError(reference.registry, status);
  }

  #unauthorized(): ImageError {
    const { reference, credentials } = this.#options;
    // Registries give the same answer for a private image as for one that does not exist.
    return credentials
      ? new ImageError(
          "unauthorized",
          `The registry ${reference.registry} did not accept the credentials for ${reference.repository}.`,
          "Check the image's name, and that the secret contains `user:token` with read access to it.",
        )
      : new ImageError(
          "unauthorized",
          `The image ${reference.text} does not exist, or the registry requires credentials for it.`,
          "Check the image's name, or set `docker_image_secret` to a secret with `user:token`.",
        );
  }
}

/** More or less than the declared size would become a part of the next request on the connection. */
async function* readExactly({ size, open }: RequestBody, onProgress: () => void): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of open()) {
    onProgress();
    bytes += chunk.length;
    if (bytes > size) throw corrupt(`A blob has more than its declared size of ${size} bytes.`);
    yield chunk;
  }
  if (bytes < size) throw corrupt(`A blob has less than its declared size of ${size} bytes.`);
}

function redirectTarget({ status, header }: HttpResponse, url: URL): URL | undefined {
  const location = header("location");
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  const target = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
  if (!target || !isPlainUrl(target))
    throw unreachable("The registry redirects to an address that is not a plain http or https URL.");
  return target;
}

const isPlainUrl = ({ protocol, username, password }: URL) =>
  /^https?:$/.test(protocol) && username === "" && password === "";

function tokenIn(body: Buffer): string | undefined {
  try {
    const { token, access_token } = JSON.parse(body.toString());
    const found = token ?? access_token;
    return typeof found === "string" && /^[\x21-\x7e]+$/.test(found) ? found : undefined;
  } catch {
    return undefined;
  }
}
