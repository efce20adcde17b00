import { path } from "../address.ts";
import { WaitTimeoutError } from "../errors.ts";
import type {
  ListPublicationsResponse,
  Publication,
  PublicationDecisionRequest,
  PublicationRequest,
  PublicationState,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import { poll, type WaitOptions } from "../poll.ts";
import type { ResponsePromise } from "../promise.ts";

const inProgress = new Set<string>(["QUEUED", "PUSHING", "PUSHED"] satisfies PublicationState[]);

/** Branches and pull requests with the changes of a run. */
export class Publications {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Publishes the changes of the latest turn. Returns immediately; call `wait` for the result. */
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

  /** Waits until a publication is final, or until it is AWAITING_APPROVAL and needs a decision. */
  wait(runId: string, publicationId: string, options: WaitOptions = {}): Promise<Publication> {
    return poll((each) => this.get(runId, publicationId, each), options, {
      isSettled: ({ state }) => !inProgress.has(state),
      error: (publication) => {
        const { state } = publication;
        const message = `Publication ${publicationId} is still ${state} after ${options.timeout} ms.`;
        return new WaitTimeoutError(message, { publication });
      },
    });
  }
}
