import { path } from "../address.ts";
import type { ListSecretsResponse, PutSecretRequest, Secret } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Secrets for environments. Values can be set but never read. */
export class Secrets {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the secrets' names. */
  list(options?: RequestOptions): ResponsePromise<ListSecretsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/secrets" }, options);
  }

  /** Creates or replaces a secret. */
  put(name: string, body: PutSecretRequest, options?: RequestOptions): ResponsePromise<Secret> {
    return this.#http.request({ method: "PUT", path: path`/agent/secrets/${name}`, body }, options);
  }

  /** Deletes a secret that no environment uses. */
  delete(name: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/secrets/${name}` }, options);
  }
}
