import { path } from "../address.ts";
import type {
  CloudEnvironment,
  CloudEnvironmentRequest,
  ListEnvironmentsResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Environments define repositories, setup and start commands, and network access for runs. */
export class Environments {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists all environments, sorted by name. */
  list(options?: RequestOptions): ResponsePromise<ListEnvironmentsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/environments" }, options);
  }

  create(body: CloudEnvironmentRequest, options?: RequestOptions): ResponsePromise<CloudEnvironment> {
    return this.#http.request({ method: "POST", path: "/agent/environments", body }, options);
  }

  get(environmentId: string, options?: RequestOptions): ResponsePromise<CloudEnvironment> {
    return this.#http.request({ method: "GET", path: path`/agent/environments/${environmentId}` }, options);
  }

  /** Replaces the configuration and increases the version. */
  replace(
    environmentId: string,
    body: CloudEnvironmentRequest,
    options?: RequestOptions,
  ): ResponsePromise<CloudEnvironment> {
    return this.#http.request(
      { method: "PUT", path: path`/agent/environments/${environmentId}`, body },
      options,
    );
  }

  delete(environmentId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request(
      { method: "DELETE", path: path`/agent/environments/${environmentId}` },
      options,
    );
  }
}
