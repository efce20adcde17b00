import { checkedBase } from "./address.ts";
import { readEnvironment } from "./environment.ts";
import { OutriderError } from "./errors.ts";
import { checkedBounds, type FetchOptions, Http, type HttpSettings, type RequestOptions } from "./http.ts";
import { isLogLevel, type Logger, type LogLevel, leveled } from "./log.ts";
import type { ResponsePromise } from "./promise.ts";
import { Artifacts } from "./resources/artifacts.ts";
import { BrakeResource } from "./resources/brake.ts";
import { Builds } from "./resources/builds.ts";
import { Environments } from "./resources/environments.ts";
import { Events } from "./resources/events.ts";
import { Followups } from "./resources/followups.ts";
import { Identities } from "./resources/identities.ts";
import { InstallationResource } from "./resources/installation.ts";
import { Keys } from "./resources/keys.ts";
import { Me } from "./resources/me.ts";
import { Models } from "./resources/models.ts";
import { People } from "./resources/people.ts";
import { Runs } from "./resources/runs.ts";
import { Secrets } from "./resources/secrets.ts";
import { Skills } from "./resources/skills.ts";
import { Workers } from "./resources/workers.ts";
import { version } from "./version.ts";

export interface ClientOptions {
  /** Else `OUTRIDER_API_KEY`. Null for none: where a cookie or a proxy tells who calls. */
  apiKey?: string | null;
  /** The API's address, ending in `/api/v1`. Else `OUTRIDER_BASE_URL`, else a service on this machine. */
  baseURL?: string;
  /** Milliseconds for one attempt. Default one minute. */
  timeout?: number;
  /** How often a call is tried again where that may help. Default 2. */
  maxRetries?: number;
  /** In place of the runtime's own. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** For every `fetch`: a dispatcher, credentials, cache. */
  fetchOptions?: FetchOptions;
  /** On every request; an empty value leaves a header out. */
  defaultHeaders?: Record<string, string>;
  /** Default `console`. */
  logger?: Logger;
  /** Else `OUTRIDER_LOG`, else `warn`. Bodies and secrets are never logged. */
  logLevel?: LogLevel;
}

export interface UndocumentedOptions extends RequestOptions {
  body?: unknown;
}

const MINUTE = 60_000;
const LOCAL = "http://127.0.0.1:4000/api/v1";

/** Speaks to one Outrider. */
export class Outrider {
  readonly runs: Runs;
  readonly followups: Followups;
  readonly events: Events;
  readonly artifacts: Artifacts;
  readonly environments: Environments;
  readonly builds: Builds;
  readonly secrets: Secrets;
  readonly models: Models;
  readonly skills: Skills;
  readonly identities: Identities;
  readonly keys: Keys;
  readonly workers: Workers;
  readonly people: People;
  readonly installation: InstallationResource;
  readonly brake: BrakeResource;
  readonly me: Me;
  readonly #options: ClientOptions;
  readonly #http: Http;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    const http = new Http(settingsOf(options));
    this.#http = http;
    this.runs = new Runs(http);
    this.followups = new Followups(http);
    this.events = new Events(http);
    this.artifacts = new Artifacts(http);
    this.environments = new Environments(http);
    this.builds = new Builds(http);
    this.secrets = new Secrets(http);
    this.models = new Models(http);
    this.skills = new Skills(http);
    this.identities = new Identities(http);
    this.keys = new Keys(http);
    this.workers = new Workers(http);
    this.people = new People(http);
    this.installation = new InstallationResource(http);
    this.brake = new BrakeResource(http);
    this.me = new Me(http);
  }

  get baseURL(): string {
    return this.#http.settings.baseURL;
  }

  /** The same client but for these. */
  withOptions(options: ClientOptions): Outrider {
    return new Outrider({ ...this.#options, ...options });
  }

  /** Any path behind `baseURL`, also one that this version does not know. */
  get<T = unknown>(path: string, options?: RequestOptions): ResponsePromise<T> {
    return this.#any("GET", path, options);
  }

  post<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#any("POST", path, options);
  }

  put<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#any("PUT", path, options);
  }

  patch<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#any("PATCH", path, options);
  }

  delete<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#any("DELETE", path, options);
  }

  #any<T>(method: string, path: string, { body, ...options }: UndocumentedOptions = {}): ResponsePromise<T> {
    return this.#http.request<T>({ method, path, body, reading: "auto" }, options);
  }
}

function settingsOf(options: ClientOptions): HttpSettings {
  const { logger = console, fetchOptions = {}, timeout = MINUTE, maxRetries = 2 } = options;
  return checkedBounds({
    apiKey: keyOf(options.apiKey),
    baseURL: checkedBase(options.baseURL ?? readEnvironment("OUTRIDER_BASE_URL") ?? LOCAL),
    timeout,
    maxRetries,
    // Looked up with each call: a browser's fetch refuses another `this`, and tests and tools replace the global one.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    fetchOptions,
    headers: { "x-outrider-client": `sdk-typescript/${version}`, ...options.defaultHeaders },
    log: leveled(logger, levelOf(options.logLevel ?? readEnvironment("OUTRIDER_LOG") ?? "warn")),
  });
}

function keyOf(given: string | null | undefined): string | null {
  if (given === null) return null;
  const key = given ?? readEnvironment("OUTRIDER_API_KEY");
  if (!key) throw new OutriderError("An API key is needed: give apiKey, or set OUTRIDER_API_KEY.");
  // What fetch would say of such a header quotes it, and the key with it.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new OutriderError("apiKey holds a space, a line break or a letter that no key has.");
  return key;
}

function levelOf(level: string): LogLevel {
  if (isLogLevel(level)) return level;
  throw new OutriderError(
    `The log level must be off, error, warn, info or debug, not ${JSON.stringify(level)}.`,
  );
}
