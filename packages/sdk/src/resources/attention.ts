import { path } from "../address.ts";
import type {
  AttentionRequest,
  DismissAttentionRequest,
  DismissAttentionResponse,
  ListAttentionQuery,
  ListAttentionResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Runs that wait for an answer or failed recently. What you dismiss is hidden only from you. */
export class Attention {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the runs that need attention, latest change first, and counts them. */
  list(query?: ListAttentionQuery, options?: RequestOptions): ResponsePromise<ListAttentionResponse> {
    return this.#http.request({ method: "GET", path: "/agent/attention", query }, options);
  }

  /** Dismisses a run until its state changes, or snoozes it. */
  dismiss(runId: string, body: AttentionRequest = {}, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "PUT", path: path`/agent/runs/${runId}/attention`, body }, options);
  }

  /** Restores a dismissed or snoozed run. */
  restore(runId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/runs/${runId}/attention` }, options);
  }

  dismissAll(
    body: DismissAttentionRequest = {},
    options?: RequestOptions,
  ): ResponsePromise<DismissAttentionResponse> {
    return this.#http.request({ method: "POST", path: "/agent/attention/dismiss", body }, options);
  }
}
