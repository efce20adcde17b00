import type { ListHarnessesResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Harnesses {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the agent programs that `harness` accepts, and whether each can be used now. */
  list(options?: RequestOptions): ResponsePromise<ListHarnessesResponse> {
    return this.#http.request({ method: "GET", path: "/agent/harnesses" }, options);
  }
}
