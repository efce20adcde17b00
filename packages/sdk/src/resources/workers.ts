import { path } from "../address.ts";
import type {
  GetWorkerDemandQuery,
  ListWorkersResponse,
  Worker,
  WorkerDemandResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Processes that execute runs. */
export class Workers {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists workers, connected ones first. */
  list(options?: RequestOptions): ResponsePromise<ListWorkersResponse> {
    return this.#http.request({ method: "GET", path: "/workers" }, options);
  }

  /** Returns the runs, workers and free slots of each pool, for autoscalers. */
  demand(query?: GetWorkerDemandQuery, options?: RequestOptions): ResponsePromise<WorkerDemandResponse> {
    return this.#http.request({ method: "GET", path: "/workers/demand", query }, options);
  }

  /** Drains a worker: it accepts no new work and finishes its runs or requeues them. */
  drain(workerId: string, options?: RequestOptions): ResponsePromise<Worker> {
    return this.#http.request({ method: "POST", path: path`/workers/${workerId}/drain` }, options);
  }
}
