import { path } from "../address.ts";
import type { ListWorkersResponse, Worker } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Processes that take runs and execute them. */
export class Workers {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Those that live first. */
  list(options?: RequestOptions): ResponsePromise<ListWorkersResponse> {
    return this.#http.request({ method: "GET", path: "/workers" }, options);
  }

  /** Lets it finish or hand back what it has, and take nothing new. */
  drain(workerId: string, options?: RequestOptions): ResponsePromise<Worker> {
    return this.#http.request({ method: "POST", path: path`/workers/${workerId}/drain` }, options);
  }
}
