import { path } from "../address.ts";
import type { Identity, IdentityRequest, ListIdentitiesResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Cloud agents: non-human identities that own runs. */
export class Identities {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists all cloud agents, sorted by name. */
  list(options?: RequestOptions): ResponsePromise<ListIdentitiesResponse> {
    return this.#http.request({ method: "GET", path: "/agent/identities" }, options);
  }

  create(body: IdentityRequest, options?: RequestOptions): ResponsePromise<Identity> {
    return this.#http.request({ method: "POST", path: "/agent/identities", body }, options);
  }

  get(uid: string, options?: RequestOptions): ResponsePromise<Identity> {
    return this.#http.request({ method: "GET", path: path`/agent/identities/${uid}` }, options);
  }

  replace(uid: string, body: IdentityRequest, options?: RequestOptions): ResponsePromise<Identity> {
    return this.#http.request({ method: "PUT", path: path`/agent/identities/${uid}`, body }, options);
  }

  /** Deletes a cloud agent and revokes its keys. */
  delete(uid: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/identities/${uid}` }, options);
  }
}
