import { path } from "../address.ts";
import type {
  ListShellEventsQuery,
  ListShellEventsResponse,
  Shell,
  ShellEvent,
  ShellInput,
  ShellRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import { type PagePromise, requestPage } from "../page.ts";
import type { ResponsePromise } from "../promise.ts";
import { EventStream, type StreamOptions } from "../stream.ts";

/** Shells in the sandbox of an environment, to find out why its build fails. */
export class Shells {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Opens a shell. With `terminal`, it has a terminal of that size. */
  create(environmentId: string, body: ShellRequest, options?: RequestOptions): ResponsePromise<Shell> {
    return this.#http.request(
      { method: "POST", path: path`/agent/environments/${environmentId}/shells`, body },
      options,
    );
  }

  get(environmentId: string, shellId: string, options?: RequestOptions): ResponsePromise<Shell> {
    return this.#http.request({ method: "GET", path: pathOf(environmentId, shellId) }, options);
  }

  /** Lists the events that are not confirmed yet, in ascending order. Iterate over the result for all pages. */
  events(
    environmentId: string,
    shellId: string,
    query?: ListShellEventsQuery,
    options?: RequestOptions,
  ): PagePromise<ShellEvent, ListShellEventsResponse> {
    const call = { method: "GET", path: `${pathOf(environmentId, shellId)}/events`, query };
    const items = (body: ListShellEventsResponse) => body.events;
    return requestPage(this.#http, { call, options, items, cursor: "after" });
  }

  /** Streams the events until the shell is closed. Confirm them with `input`, or the shell's programs wait. */
  stream(environmentId: string, shellId: string, options: StreamOptions = {}): EventStream<ShellEvent> {
    return new EventStream({
      http: this.#http,
      path: `${pathOf(environmentId, shellId)}/events`,
      options,
      read: ({ id, data }) => (id === undefined ? undefined : (JSON.parse(data) as ShellEvent)),
    });
  }

  /** Sends numbered input, or confirms received events. Call it at least every 30 seconds, or the shell ends. */
  input(
    environmentId: string,
    shellId: string,
    body: ShellInput,
    options?: RequestOptions,
  ): ResponsePromise<void> {
    return this.#http.request(
      { method: "PUT", path: `${pathOf(environmentId, shellId)}/input`, body },
      options,
    );
  }

  /** Closes the shell and deletes its sandbox. */
  delete(environmentId: string, shellId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: pathOf(environmentId, shellId) }, options);
  }
}

function pathOf(environmentId: string, shellId: string): string {
  return path`/agent/environments/${environmentId}/shells/${shellId}`;
}
