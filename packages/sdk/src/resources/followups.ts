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

/** Messages to a run that steer or continue it. */
export class Followups {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Steers a run at work, joins the prompt of a waiting one, continues a finished or blocked one. */
  create(
    runId: string,
    body: RunFollowupRequest,
    options?: RequestOptions,
  ): ResponsePromise<RunFollowupResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/followups`, body }, options);
  }

  /** In the order in which they were sent. */
  list(runId: string, options?: RequestOptions): ResponsePromise<ListFollowupsResponse> {
    return this.#http.request({ method: "GET", path: path`/agent/runs/${runId}/followups` }, options);
  }

  /** Changes one that is still queued. */
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

  /** Withdraws one that is still queued. */
  delete(runId: string, followupId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request(
      { method: "DELETE", path: path`/agent/runs/${runId}/followups/${followupId}` },
      options,
    );
  }
}
