import { path } from "../address.ts";
import type { ListSecretsResponse, PutSecretRequest, Secret } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Values for environments. They go in and never come out. */
export class Secrets {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Names only. */
  list(options?: RequestOptions): ResponsePromise<ListSecretsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/secrets" }, options);
  }

  /** Stores or replaces it. */
  put(name: string, body: PutSecretRequest, options?: RequestOptions): ResponsePromise<Secret> {
    return this.#http.request({ method: "PUT", path: path`/agent/secrets/${name}`, body }, options);
  }

  /** Deletes one that no environment uses. */
  delete(name: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/secrets/${name}` }, options);
  }
}
