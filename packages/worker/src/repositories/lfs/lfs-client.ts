/**
 * A client for the Git LFS batch API with the `basic` transfer. The server, and the URLs and headers that it sends, are
 * hostile: answers are limited in size, redirects are limited in number, and the credential is sent only to its origin.
 */
import type { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import { Redactor } from "../../redaction/redact.ts";
import type { AddressRules } from "../address.ts";
import {
  authenticationRequired,
  type RepositoryError,
  setupFailed,
  unreachable,
} from "../repository-error.ts";
import { type LfsEndpoint, parseObject, requireSafeUrl, safeHeaders } from "./lfs-endpoint.ts";

const IDLE_MS = 180_000;
const MAX_ANSWER_BYTES = 4 * 2 ** 20;
const MAX_REDIRECTS = 5;
const MAX_MESSAGE_CHARACTERS = 200;
const mediaType = "application/vnd.git-lfs+json";

const turnOff = "or set `lfs` of the repository to false.";

export interface LfsObject {
  oid: string;
  size: number;
}

/** How to download an object, or why that is not possible. */
export type LfsAction = { url: string; headers: Record<string, string> } | { problem: string };

interface ClientOptions {
  /** The repository's URL, for errors. */
  repositoryUrl: string;
  endpoint: LfsEndpoint;
  rules: AddressRules;
  dispatcher: Dispatcher;
  /** Values to remove from what the server says. */
  secrets: string[];
  signal: AbortSignal;
}

interface Request {
  method: "GET" | "POST";
  url: URL;
  headers: Record<string, string>;
  body?: string;
}

export class LfsClient {
  readonly #options: ClientOptions;
  readonly #redactor: Redactor;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#redactor = new Redactor(options.secrets);
  }

  /** Asks how to download the objects. Returns the answers by oid. */
  async batch(objects: LfsObject[]): Promise<Map<string, LfsAction>> {
    const { endpoint } = this.#options;
    const response = await this.#send({
      method: "POST",
      url: new URL(`${endpoint.url.href}/objects/batch`),
      headers: { ...endpoint.headers, accept: mediaType, "content-type": mediaType },
      body: JSON.stringify({ operation: "download", transfers: ["basic"], hash_algo: "sha256", objects }),
    });
    const answer = parseObject(await readText(response.body));
    if (response.statusCode !== 200)
      throw this.#statusError(response.statusCode, endpoint.url, answer?.message);
    if (!Array.isArray(answer?.objects)) throw this.#invalidAnswer();
    return new Map(
      answer.objects.slice(0, objects.length).map((object) => [object?.oid, this.#actionOf(object)]),
    );
  }

  /** Starts the download of an object. */
  async download({ url, headers }: { url: string; headers: Record<string, string> }): Promise<Readable> {
    const target = requireSafeUrl(url, this.#options.rules);
    const response = await this.#send({ method: "GET", url: target, headers });
    if (response.statusCode === 200) return response.body;
    response.body.on("error", () => {}).destroy();
    throw this.#statusError(response.statusCode, target);
  }

  #actionOf(object: unknown): LfsAction {
    const { actions, error } = (object ?? {}) as {
      actions?: { download?: { href?: unknown; header?: unknown } };
      error?: { message?: unknown };
    };
    const { href, header } = actions?.download ?? {};
    if (typeof href === "string") return { url: href, headers: safeHeaders(header) };
    return { problem: this.#clean(error?.message) || "the server offers no download" };
  }

  /** Sends a request and follows redirects. Headers for one origin are not sent to another. */
  async #send(first: Request): Promise<Dispatcher.ResponseData> {
    const { endpoint, rules, dispatcher, signal } = this.#options;
    let next = first;
    for (let redirects = 0; ; redirects++) {
      const { method, url, body } = next;
      const { credential } = endpoint;
      const isAuthorized = Object.keys(next.headers).some((name) => name.toLowerCase() === "authorization");
      const authorization =
        credential && !isAuthorized && url.origin === credential.origin
          ? { authorization: credential.authorization }
          : {};
      const response = await request(url, {
        ...{ method, dispatcher, signal, headersTimeout: IDLE_MS, bodyTimeout: IDLE_MS },
        headers: { "user-agent": "Outrider", ...next.headers, ...authorization },
        ...(body === undefined ? {} : { body }),
      }).catch((error: Error) => {
        signal.throwIfAborted();
        throw connectionError(url, error);
      });
      const { location } = response.headers;
      const isRedirect = [301, 302, 303, 307, 308].includes(response.statusCode);
      if (!isRedirect || typeof location !== "string") return response;
      response.body.on("error", () => {}).destroy();
      if (redirects === MAX_REDIRECTS) throw this.#invalidAnswer();
      const target = requireSafeUrl(
        URL.canParse(location, url.href) ? new URL(location, url).href : location,
        rules,
      );
      const isSameOrigin = target.origin === url.origin;
      const { accept, "content-type": type } = next.headers;
      const common = { ...(accept ? { accept } : {}), ...(type ? { "content-type": type } : {}) };
      next = { ...next, url: target, headers: isSameOrigin ? next.headers : common };
    }
  }

  #statusError(status: number, { host }: URL, message?: unknown): RepositoryError {
    const { repositoryUrl } = this.#options;
    const reason = this.#clean(message);
    const said = reason ? `: ${reason}` : "";
    if (status === 401 || status === 403) {
      return authenticationRequired(
        `The Git LFS server ${host} of ${repositoryUrl} requires other credentials (HTTP status ${status})${said}.`,
        `Store a credential that can read the repository and its Git LFS files as its secret, ${turnOff}`,
      );
    }
    if (status === 429 || status >= 500) {
      return unreachable(
        `The Git LFS server ${host} responded with HTTP status ${status}${said}.`,
        "Try again later.",
      );
    }
    return setupFailed(
      `The Git LFS server ${host} of ${repositoryUrl} responded with HTTP status ${status}${said}.`,
      `Check that Git LFS is enabled for the repository, ${turnOff}`,
    );
  }

  #invalidAnswer(): RepositoryError {
    const { endpoint, repositoryUrl } = this.#options;
    return setupFailed(
      `The Git LFS server ${endpoint.url.host} of ${repositoryUrl} sent an invalid answer.`,
      `Check that Git LFS is enabled for the repository, ${turnOff}`,
    );
  }

  #clean(text: unknown): string {
    if (typeof text !== "string") return "";
    const redacted = this.#redactor.redact(text.slice(0, 10 * MAX_MESSAGE_CHARACTERS));
    return redacted
      .replaceAll(/\p{Cc}+/gu, " ")
      .slice(0, MAX_MESSAGE_CHARACTERS)
      .replace(/\.$/, "");
  }
}

function connectionError({ host }: URL, error: Error): RepositoryError {
  if (/proxy response \(4\d\d\)/i.test(error.message)) {
    return setupFailed(
      `The worker's proxy does not allow connections to the Git LFS server ${host}.`,
      `Ask the operator to allow this host for repositories, ${turnOff}`,
    );
  }
  if (
    /certificate|self.signed|CERT_|altnames/i.test(`${error.message} ${(error as { code?: string }).code}`)
  ) {
    return setupFailed(
      `The worker does not trust the TLS certificate of the Git LFS server ${host}.`,
      "Ask the operator to add the certificate authority to the worker's system.",
    );
  }
  return unreachable(
    `The Git LFS server ${host} could not be reached, or it closed the connection.`,
    "Try again. If the problem persists, check the worker's network access.",
  );
}

/** Reads a bounded answer. The rest of a longer one is dropped, so that it is not valid. */
async function readText(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return String(Buffer.concat(chunks));
}
