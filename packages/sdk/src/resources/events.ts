import { path } from "../address.ts";
import type { ListEventsQuery, ListEventsResponse, RunEvent } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import { type PagePromise, requestPage } from "../page.ts";

/** A run's events. Use `runs.stream` to follow them. */
export class Events {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the events in ascending order. Iterate over the result for all pages. */
  list(
    runId: string,
    query?: ListEventsQuery,
    options?: RequestOptions,
  ): PagePromise<RunEvent, ListEventsResponse> {
    const call = { method: "GET", path: path`/agent/runs/${runId}/events`, query };
    return requestPage(this.#http, {
      call,
      options,
      items: (body: ListEventsResponse) => body.events,
      cursor: "after",
    });
  }
}
