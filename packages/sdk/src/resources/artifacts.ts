import { path } from "../address.ts";
import type { Artifact } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Files that runs produced. */
export class Artifacts {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  get(artifactId: string, options?: RequestOptions): ResponsePromise<Artifact> {
    return this.#http.request({ method: "GET", path: path`/agent/artifacts/${artifactId}` }, options);
  }

  /** Downloads the content. Use `.asResponse()` to stream large files. */
  content(artifactId: string, options?: RequestOptions): ResponsePromise<Uint8Array> {
    return this.#http.request(
      { method: "GET", path: path`/agent/artifacts/${artifactId}/content`, reading: "bytes" },
      options,
    );
  }
}
