import { path } from "../address.ts";
import type { CreateKeyRequest, CreateKeyResponse, ListKeysResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Keys {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists your keys and those of your cloud agents. Admins see all keys. */
  list(options?: RequestOptions): ResponsePromise<ListKeysResponse> {
    return this.#http.request({ method: "GET", path: "/keys" }, options);
  }

  /** Creates a key. The response contains the raw key, which is never shown again. */
  create(body: CreateKeyRequest, options?: RequestOptions): ResponsePromise<CreateKeyResponse> {
    return this.#http.request({ method: "POST", path: "/keys", body }, options);
  }

  /** Revokes a key immediately. */
  delete(keyId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/keys/${keyId}` }, options);
  }
}
