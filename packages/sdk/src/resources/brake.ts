import type { Brake, BrakeRequest, CancelRunsRequest, CancelRunsResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** What an operator stops the service with. For admins. */
export class BrakeResource {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** What is stopped, and how many runs have not ended. */
  get(options?: RequestOptions): ResponsePromise<Brake> {
    return this.#http.request({ method: "GET", path: "/installation/brake" }, options);
  }

  /** Pauses intake or queue, or allows reading alone. What is absent is released. */
  set(body: BrakeRequest, options?: RequestOptions): ResponsePromise<Brake> {
    return this.#http.request({ method: "PUT", path: "/installation/brake", body }, options);
  }

  /** Cancels a bounded number of the runs that a filter finds. Call it again until `remaining` is 0. */
  cancelRuns(body: CancelRunsRequest, options?: RequestOptions): ResponsePromise<CancelRunsResponse> {
    return this.#http.request({ method: "POST", path: "/installation/brake/cancel", body }, options);
  }
}
