import { path } from "../address.ts";
import type { EnvironmentProposal, EnvironmentProposalRequest } from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Settings for an environment that are derived from the lock files of a repository. */
export class Proposals {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Requests a proposal. Call `get` until its state is READY or FAILED, which usually takes a few seconds. */
  create(body: EnvironmentProposalRequest, options?: RequestOptions): ResponsePromise<EnvironmentProposal> {
    return this.#http.request({ method: "POST", path: "/agent/environment-proposals", body }, options);
  }

  get(proposalId: string, options?: RequestOptions): ResponsePromise<EnvironmentProposal> {
    return this.#http.request(
      { method: "GET", path: path`/agent/environment-proposals/${proposalId}` },
      options,
    );
  }
}
