import type { ListAgentsResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Agents {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists what can be started: the skills of the environments that the key may use. */
  list(options?: RequestOptions): ResponsePromise<ListAgentsResponse> {
    return this.#http.request({ method: "GET", path: "/agent" }, options);
  }
}
