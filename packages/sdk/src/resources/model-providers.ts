import { path } from "../address.ts";
import type {
  ListModelProvidersResponse,
  ModelProvider,
  ModelTest,
  ModelTestRequest,
  PutModelProviderRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Connections to models: Anthropic, OpenAI, Google, their clouds, and OpenAI-compatible servers. */
export class ModelProviders {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(options?: RequestOptions): ResponsePromise<ListModelProvidersResponse> {
    return this.#http.request({ method: "GET", path: "/agent/model-providers" }, options);
  }

  get(providerName: string, options?: RequestOptions): ResponsePromise<ModelProvider> {
    return this.#http.request({ method: "GET", path: path`/agent/model-providers/${providerName}` }, options);
  }

  /** Creates or replaces a provider. Without `api_key`, the stored key stays. */
  put(
    providerName: string,
    body: PutModelProviderRequest,
    options?: RequestOptions,
  ): ResponsePromise<ModelProvider> {
    return this.#http.request(
      { method: "PUT", path: path`/agent/model-providers/${providerName}`, body },
      options,
    );
  }

  /** Deletes a provider and its key. */
  delete(providerName: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request(
      { method: "DELETE", path: path`/agent/model-providers/${providerName}` },
      options,
    );
  }

  /** Makes a real call and says how long it took and what came back, or what is wrong. */
  test(
    providerName: string,
    body: ModelTestRequest = {},
    options?: RequestOptions,
  ): ResponsePromise<ModelTest> {
    return this.#http.request(
      { method: "POST", path: path`/agent/model-providers/${providerName}/test`, body },
      options,
    );
  }
}
