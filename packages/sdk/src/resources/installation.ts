import type { Installation } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Settings and status of the installation. */
export class InstallationResource {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns maintenance status, limits and retention. */
  get(options?: RequestOptions): ResponsePromise<Installation> {
    return this.#http.request({ method: "GET", path: "/installation" }, options);
  }
}
