import { path } from "../address.ts";
import type {
  ListPublicationsResponse,
  Publication,
  PublicationDecisionRequest,
  PublicationRequest,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Branches and pull requests with the changes of a run. */
export class Publications {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Publishes the changes of the latest turn. Returns immediately; call `get` until the state is final or AWAITING_APPROVAL. */
  create(
    runId: string,
    body: PublicationRequest = {},
    options?: RequestOptions,
  ): ResponsePromise<Publication> {
    return this.#http.request(
      { method: "POST", path: path`/agent/runs/${runId}/publications`, body },
      options,
    );
  }

  /** Lists the publications of a run, newest first, and what can be published. */
  list(runId: string, options?: RequestOptions): ResponsePromise<ListPublicationsResponse> {
    return this.#http.request({ method: "GET", path: path`/agent/runs/${runId}/publications` }, options);
  }

  get(runId: string, publicationId: string, options?: RequestOptions): ResponsePromise<Publication> {
    return this.#http.request(
      { method: "GET", path: path`/agent/runs/${runId}/publications/${publicationId}` },
      options,
    );
  }

  /** Approves a publication. Exactly the commits that it names are pushed. */
  approve(
    runId: string,
    publicationId: string,
    body: PublicationDecisionRequest = {},
    options?: RequestOptions,
  ): ResponsePromise<Publication> {
    return this.#http.request(
      { method: "POST", path: path`/agent/runs/${runId}/publications/${publicationId}/approve`, body },
      options,
    );
  }

  /** Rejects a publication. With a comment, the run continues with it. */
  reject(
    runId: string,
    publicationId: string,
    body: PublicationDecisionRequest = {},
    options?: RequestOptions,
  ): ResponsePromise<Publication> {
    return this.#http.request(
      { method: "POST", path: path`/agent/runs/${runId}/publications/${publicationId}/reject`, body },
      options,
    );
  }
}
