import type {
  GetUsageLoadQuery,
  GetUsageQuery,
  UsageLoadResponse,
  UsageResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Runs, cost, tokens, durations and load over time. */
export class Usage {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns usage per interval, and also by `group_by`. Default: the last 30 days. */
  get(query?: GetUsageQuery, options?: RequestOptions): ResponsePromise<UsageResponse> {
    return this.#http.request({ method: "GET", path: "/usage", query }, options);
  }

  /** Returns the load of all workers, or of one. */
  load(query?: GetUsageLoadQuery, options?: RequestOptions): ResponsePromise<UsageLoadResponse> {
    return this.#http.request({ method: "GET", path: "/usage/load", query }, options);
  }
}
