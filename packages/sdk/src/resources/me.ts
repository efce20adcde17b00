import type { Me as Caller } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Me {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Who the key speaks for, and what it may do. */
  get(options?: RequestOptions): ResponsePromise<Caller> {
    return this.#http.request({ method: "GET", path: "/me" }, options);
  }
}
