import { parseBaseUrl } from "./address.ts";
import { readEnvironment } from "./environment.ts";
import { OutriderError } from "./errors.ts";
import { type FetchOptions, Http, type HttpSettings, type RequestOptions, validateBounds } from "./http.ts";
import { filterByLevel, isLogLevel, type Logger, type LogLevel } from "./log.ts";
import type { ResponsePromise } from "./promise.ts";
import { Agents } from "./resources/agents.ts";
import { Artifacts } from "./resources/artifacts.ts";
import { Attention } from "./resources/attention.ts";
import { Builds } from "./resources/builds.ts";
import { Environments } from "./resources/environments.ts";
import { Events } from "./resources/events.ts";
import { Files } from "./resources/files.ts";
import { Followups } from "./resources/followups.ts";
import { Forges } from "./resources/forges.ts";
import { Harnesses } from "./resources/harnesses.ts";
import { Identities } from "./resources/identities.ts";
import { InstallationResource } from "./resources/installation.ts";
import { Keys } from "./resources/keys.ts";
import { MaintenanceResource } from "./resources/maintenance.ts";
import { Me } from "./resources/me.ts";
import { ModelProviders } from "./resources/model-providers.ts";
import { ModelSettingsResource } from "./resources/model-settings.ts";
import { Models } from "./resources/models.ts";
import { Proposals } from "./resources/proposals.ts";
import { Publications } from "./resources/publications.ts";
import { Runs } from "./resources/runs.ts";
import { Secrets } from "./resources/secrets.ts";
import { Shells } from "./resources/shells.ts";
import { Skills } from "./resources/skills.ts";
import { Templates } from "./resources/templates.ts";
import { Usage } from "./resources/usage.ts";
import { Users } from "./resources/users.ts";
import { Views } from "./resources/views.ts";
import { Workers } from "./resources/workers.ts";
import { version } from "./version.ts";

export interface ClientOptions {
  /** Default: `OUTRIDER_API_KEY`. Null sends no key, for authentication by cookie or proxy. */
  apiKey?: string | null;
  /** API URL, ending in `/api/v1`. Default: `OUTRIDER_BASE_URL`, or else a server on this machine. */
  baseURL?: string;
  /** Timeout for one attempt in milliseconds. Default: 1 minute. */
  timeout?: number;
  /** Maximum number of retries. Default: 2. */
  maxRetries?: number;
  /** Replaces the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Additional options for every `fetch`, such as a dispatcher, credentials or cache mode. */
  fetchOptions?: FetchOptions;
  /** Headers for all requests. An empty value removes a header. */
  defaultHeaders?: Record<string, string>;
  /** Default: `console`. */
  logger?: Logger;
  /** Default: `OUTRIDER_LOG`, or else `warn`. Bodies and secrets are never logged. */
  logLevel?: LogLevel;
}

export interface UndocumentedOptions extends RequestOptions {
  body?: unknown;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_BASE_URL = "http://127.0.0.1:4000/api/v1";

/** Client for the Outrider API. */
export class Outrider {
  readonly runs: Runs;
  readonly followups: Followups;
  readonly events: Events;
  readonly artifacts: Artifacts;
  readonly files: Files;
  readonly attention: Attention;
  readonly views: Views;
  readonly templates: Templates;
  readonly publications: Publications;
  readonly environments: Environments;
  readonly builds: Builds;
  readonly proposals: Proposals;
  readonly shells: Shells;
  readonly forges: Forges;
  readonly secrets: Secrets;
  readonly models: Models;
  readonly modelProviders: ModelProviders;
  readonly modelSettings: ModelSettingsResource;
  readonly harnesses: Harnesses;
  readonly skills: Skills;
  readonly agents: Agents;
  readonly identities: Identities;
  readonly keys: Keys;
  readonly workers: Workers;
  readonly usage: Usage;
  readonly users: Users;
  readonly installation: InstallationResource;
  readonly maintenance: MaintenanceResource;
  readonly me: Me;
  readonly #options: ClientOptions;
  readonly #http: Http;

  constructor(options: ClientOptions = {}) {
    this.#options = options;
    const http = new Http(resolveSettings(options));
    this.#http = http;
    this.runs = new Runs(http);
    this.followups = new Followups(http);
    this.events = new Events(http);
    this.artifacts = new Artifacts(http);
    this.files = new Files(http);
    this.attention = new Attention(http);
    this.views = new Views(http);
    this.templates = new Templates(http);
    this.publications = new Publications(http);
    this.environments = new Environments(http);
    this.builds = new Builds(http);
    this.proposals = new Proposals(http);
    this.shells = new Shells(http);
    this.forges = new Forges(http);
    this.secrets = new Secrets(http);
    this.models = new Models(http);
    this.modelProviders = new ModelProviders(http);
    this.modelSettings = new ModelSettingsResource(http);
    this.harnesses = new Harnesses(http);
    this.skills = new Skills(http);
    this.agents = new Agents(http);
    this.identities = new Identities(http);
    this.keys = new Keys(http);
    this.workers = new Workers(http);
    this.usage = new Usage(http);
    this.users = new Users(http);
    this.installation = new InstallationResource(http);
    this.maintenance = new MaintenanceResource(http);
    this.me = new Me(http);
  }

  get baseURL(): string {
    return this.#http.settings.baseURL;
  }

  /** Returns a copy of this client with the given options changed. */
  withOptions(options: ClientOptions): Outrider {
    return new Outrider({ ...this.#options, ...options });
  }

  /** Calls any path relative to `baseURL`, including paths unknown to this version. */
  get<T = unknown>(path: string, options?: RequestOptions): ResponsePromise<T> {
    return this.#request("GET", path, options);
  }

  post<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#request("POST", path, options);
  }

  put<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#request("PUT", path, options);
  }

  patch<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#request("PATCH", path, options);
  }

  delete<T = unknown>(path: string, options?: UndocumentedOptions): ResponsePromise<T> {
    return this.#request("DELETE", path, options);
  }

  #request<T>(
    method: string,
    path: string,
    { body, ...options }: UndocumentedOptions = {},
  ): ResponsePromise<T> {
    return this.#http.request<T>({ method, path, body, reading: "auto" }, options);
  }
}

function resolveSettings(options: ClientOptions): HttpSettings {
  const { logger = console, fetchOptions = {}, timeout = DEFAULT_TIMEOUT_MS, maxRetries = 2 } = options;
  return validateBounds({
    apiKey: resolveKey(options.apiKey),
    baseURL: parseBaseUrl(options.baseURL ?? readEnvironment("OUTRIDER_BASE_URL") ?? DEFAULT_BASE_URL),
    timeout,
    maxRetries,
    // Look up fetch on each call: browsers require the global `this`, and tests and tools replace the global function.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    fetchOptions,
    headers: { "x-outrider-client": `sdk-typescript/${version}`, ...options.defaultHeaders },
    log: filterByLevel(logger, parseLogLevel(options.logLevel ?? readEnvironment("OUTRIDER_LOG") ?? "warn")),
  });
}

function resolveKey(apiKey: string | null | undefined): string | null {
  if (apiKey === null) return null;
  const key = apiKey ?? readEnvironment("OUTRIDER_API_KEY");
  if (!key) throw new OutriderError("API key missing. Pass apiKey or set OUTRIDER_API_KEY.");
  // Check this here, because fetch's error would quote the header with the key.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new OutriderError(
      "apiKey contains a character that is not allowed in keys, such as a space or a line break.",
    );
  return key;
}

function parseLogLevel(level: string): LogLevel {
  if (isLogLevel(level)) return level;
  throw new OutriderError(`logLevel must be off, error, warn, info or debug, not ${JSON.stringify(level)}.`);
}
