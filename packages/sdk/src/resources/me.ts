import type { Me as Caller } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Me {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns the user or cloud agent that the key belongs to, and the key's permissions. */
  get(options?: RequestOptions): ResponsePromise<Caller> {
    return this.#http.request({ method: "GET", path: "/me" }, options);
  }
}
