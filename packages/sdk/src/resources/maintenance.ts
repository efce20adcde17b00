import type {
  CancelRunsRequest,
  CancelRunsResponse,
  Maintenance,
  MaintenanceRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Maintenance settings. Admins only. */
export class MaintenanceResource {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns the maintenance settings and the number of unfinished runs. */
  get(options?: RequestOptions): ResponsePromise<Maintenance> {
    return this.#http.request({ method: "GET", path: "/installation/maintenance" }, options);
  }

  /** Replaces the maintenance settings. Absent fields are reset. */
  set(body: MaintenanceRequest, options?: RequestOptions): ResponsePromise<Maintenance> {
    return this.#http.request({ method: "PUT", path: "/installation/maintenance", body }, options);
  }

  /** Cancels a batch of runs that match a filter. Repeat the call until `remaining` is 0. */
  cancelRuns(body: CancelRunsRequest, options?: RequestOptions): ResponsePromise<CancelRunsResponse> {
    return this.#http.request({ method: "POST", path: "/installation/maintenance/cancel", body }, options);
  }
}
