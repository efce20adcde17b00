import { path } from "../address.ts";
import type {
  ListFollowupsResponse,
  RunFollowup,
  RunFollowupRequest,
  RunFollowupResponse,
  UpdateFollowupRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Messages that steer or continue a run. */
export class Followups {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Steers a run in progress, adds to the prompt of a queued run, or continues a finished or blocked run. */
  create(
    runId: string,
    body: RunFollowupRequest,
    options?: RequestOptions,
  ): ResponsePromise<RunFollowupResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/followups`, body }, options);
  }

  /** Lists the follow-ups in the order they were sent. */
  list(runId: string, options?: RequestOptions): ResponsePromise<ListFollowupsResponse> {
    return this.#http.request({ method: "GET", path: path`/agent/runs/${runId}/followups` }, options);
  }

  /** Updates a queued follow-up. */
  update(
    runId: string,
    followupId: string,
    body: UpdateFollowupRequest,
    options?: RequestOptions,
  ): ResponsePromise<RunFollowup> {
    return this.#http.request(
      { method: "PATCH", path: path`/agent/runs/${runId}/followups/${followupId}`, body },
      options,
    );
  }

  /** Withdraws a queued follow-up. */
  delete(runId: string, followupId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request(
      { method: "DELETE", path: path`/agent/runs/${runId}/followups/${followupId}` },
      options,
    );
  }
}
