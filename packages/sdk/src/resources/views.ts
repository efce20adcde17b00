import { path } from "../address.ts";
import type { CreateViewRequest, ListViewsResponse, UpdateViewRequest, View } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Saved filters of the run list. `query` of a view is an argument for `runs.list`. */
export class Views {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists your own views and those that others share. */
  list(options?: RequestOptions): ResponsePromise<ListViewsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/views" }, options);
  }

  create(body: CreateViewRequest, options?: RequestOptions): ResponsePromise<View> {
    return this.#http.request({ method: "POST", path: "/agent/views", body }, options);
  }

  update(viewId: string, body: UpdateViewRequest, options?: RequestOptions): ResponsePromise<View> {
    return this.#http.request({ method: "PATCH", path: path`/agent/views/${viewId}`, body }, options);
  }

  delete(viewId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/views/${viewId}` }, options);
  }
}
