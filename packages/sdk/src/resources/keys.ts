import { path } from "../address.ts";
import type { CreateKeyRequest, CreateKeyResponse, ListKeysResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Keys {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Your own and your cloud agents'; an admin sees all. */
  list(options?: RequestOptions): ResponsePromise<ListKeysResponse> {
    return this.#http.request({ method: "GET", path: "/keys" }, options);
  }

  /** The answer holds the raw key, this once: store it before you do anything else. */
  create(body: CreateKeyRequest, options?: RequestOptions): ResponsePromise<CreateKeyResponse> {
    return this.#http.request({ method: "POST", path: "/keys", body }, options);
  }

  /** Revokes it at once. */
  delete(keyId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/keys/${keyId}` }, options);
  }
}
