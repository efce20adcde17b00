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

/** Environment builds. Runs also build their environment if necessary. */
export class Builds {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the latest 100 builds, newest first. */
  list(environmentId: string, options?: RequestOptions): ResponsePromise<ListBuildsResponse> {
    return this.#http.request(
      { method: "GET", path: path`/agent/environments/${environmentId}/builds` },
      options,
    );
  }

  /** Rebuilds an environment, ahead of a run or to run the setup commands again. */
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

  /** Lists the log entries in ascending order. Iterate over the result for all pages. */
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

  /** Streams the log from the beginning, or after `after`, until the build is finished. */
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
