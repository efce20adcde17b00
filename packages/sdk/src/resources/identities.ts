import { path } from "../address.ts";
import type { CloudAgent, CloudAgentRequest, ListIdentitiesResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Cloud agents: identities that are not people. */
export class Identities {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All of them, by name. */
  list(options?: RequestOptions): ResponsePromise<ListIdentitiesResponse> {
    return this.#http.request({ method: "GET", path: "/agent/identities" }, options);
  }

  create(body: CloudAgentRequest, options?: RequestOptions): ResponsePromise<CloudAgent> {
    return this.#http.request({ method: "POST", path: "/agent/identities", body }, options);
  }

  get(uid: string, options?: RequestOptions): ResponsePromise<CloudAgent> {
    return this.#http.request({ method: "GET", path: path`/agent/identities/${uid}` }, options);
  }

  replace(uid: string, body: CloudAgentRequest, options?: RequestOptions): ResponsePromise<CloudAgent> {
    return this.#http.request({ method: "PUT", path: path`/agent/identities/${uid}`, body }, options);
  }

  /** Deletes it and revokes its keys. */
  delete(uid: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/identities/${uid}` }, options);
  }
}
