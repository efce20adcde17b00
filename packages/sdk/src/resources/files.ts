import { path } from "../address.ts";
import type { ListRunFilesQuery, RunFiles } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Files in the workspaces of runs. */
export class Files {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists a folder of the run's workspace, or the workspace itself. */
  list(runId: string, query?: ListRunFilesQuery, options?: RequestOptions): ResponsePromise<RunFiles> {
    return this.#http.request({ method: "GET", path: path`/agent/runs/${runId}/files`, query }, options);
  }

  /** Downloads a file of at most 32 MiB. */
  read(runId: string, query: { path: string }, options?: RequestOptions): ResponsePromise<Uint8Array> {
    return this.#http.request(
      { method: "GET", path: path`/agent/runs/${runId}/files/content`, query, reading: "bytes" },
      options,
    );
  }
}
