import type { ListSkillsResponse } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

export class Skills {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** What `skill_spec` may name: the skills of the environments' repositories. */
  list(options?: RequestOptions): ResponsePromise<ListSkillsResponse> {
    return this.#http.request({ method: "GET", path: "/agent/skills" }, options);
  }
}
