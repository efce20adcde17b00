import type { Installation } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** What holds for everybody on this service. */
export class InstallationResource {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** What is stopped, and which limits and retention hold. */
  get(options?: RequestOptions): ResponsePromise<Installation> {
    return this.#http.request({ method: "GET", path: "/installation" }, options);
  }
}
