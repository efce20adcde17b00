import type { ListSkillsResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Skills {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the skills in the environments' repositories. */
  list(options?: RequestOptions): ResponsePromise<ListSkillsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/skills" }, options);
  }
}
