import type { ListModelsResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Models {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the models and aliases that `model_id` accepts. */
  list(options?: RequestOptions): ResponsePromise<ListModelsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/models" }, options);
  }
}
