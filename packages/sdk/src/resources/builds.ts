import { path } from "../address.ts";
import type {
  Build,
  BuildEvent,
  ListBuildEventsQuery,
  ListBuildEventsResponse,
  ListBuildsResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import { type PagePromise, requestPage } from "../page.ts";
import type { ResponsePromise } from "../promise.ts";
import { EventStream, type StreamOptions } from "../stream.ts";

/** Environments made ready. Runs build what they need by themselves. */
export class Builds {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The latest hundred, newest first. */
  list(environmentId: string, options?: RequestOptions): ResponsePromise<ListBuildsResponse> {
    return this.#http.request(
      { method: "GET", path: path`/agent/environments/${environmentId}/builds` },
      options,
    );
  }

  /** Builds anew, ahead of a run or because the outcome of setup commands has changed. */
  create(environmentId: string, options?: RequestOptions): ResponsePromise<Build> {
    return this.#http.request(
      { method: "POST", path: path`/agent/environments/${environmentId}/builds` },
      options,
    );
  }

  get(environmentId: string, buildId: string, options?: RequestOptions): ResponsePromise<Build> {
    return this.#http.request(
      { method: "GET", path: path`/agent/environments/${environmentId}/builds/${buildId}` },
      options,
    );
  }

  /** The log in order; iterate over it for all pages. */
  events(
    environmentId: string,
    buildId: string,
    query?: ListBuildEventsQuery,
    options?: RequestOptions,
  ): PagePromise<BuildEvent, ListBuildEventsResponse> {
    const call = { method: "GET", path: eventsOf(environmentId, buildId), query };
    const items = (body: ListBuildEventsResponse) => body.events;
    return requestPage(this.#http, { call, options, items, cursor: "after" });
  }

  /** The log as it is written, from its beginning or behind `after`, until the build is finished. */
  stream(environmentId: string, buildId: string, options: StreamOptions = {}): EventStream<BuildEvent> {
    return new EventStream({
      http: this.#http,
      path: eventsOf(environmentId, buildId),
      options,
      read: ({ id, data }) => (id === undefined ? undefined : (JSON.parse(data) as BuildEvent)),
    });
  }
}

function eventsOf(environmentId: string, buildId: string): string {
  return path`/agent/environments/${environmentId}/builds/${buildId}/events`;
}
