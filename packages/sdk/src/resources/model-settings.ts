import type { ModelSettings, ModelSettingsRequest } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** The default model and the aliases. */
export class ModelSettingsResource {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  get(options?: RequestOptions): ResponsePromise<ModelSettings> {
    return this.#http.request({ method: "GET", path: "/agent/model-settings" }, options);
  }

  /** Replaces the default model and all aliases. Admins only. */
  set(body: ModelSettingsRequest, options?: RequestOptions): ResponsePromise<ModelSettings> {
    return this.#http.request({ method: "PUT", path: "/agent/model-settings", body }, options);
  }
}
