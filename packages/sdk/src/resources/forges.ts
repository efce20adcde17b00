import { path } from "../address.ts";
import type {
  AppManifest,
  AppManifestCompletion,
  AppManifestRequest,
  Forge,
  ForgeRequest,
  ForgeTest,
  ForgeTestRequest,
  ListForgeRepositoriesQuery,
  ListForgeRepositoriesResponse,
  ListForgesResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import type { ResponsePromise } from "../promise.ts";

/** Git hosting services at which runs publish changes: GitHub, GitLab, Gitea and Forgejo. */
export class Forges {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  list(options?: RequestOptions): ResponsePromise<ListForgesResponse> {
    return this.#http.request({ method: "GET", path: "/agent/forges" }, options);
  }

  /** Connects a forge with an access token, or replaces its token. */
  create(body: ForgeRequest, options?: RequestOptions): ResponsePromise<Forge> {
    return this.#http.request({ method: "POST", path: "/agent/forges", body }, options);
  }

  get(forgeId: string, options?: RequestOptions): ResponsePromise<Forge> {
    return this.#http.request({ method: "GET", path: path`/agent/forges/${forgeId}` }, options);
  }

  /** Disconnects a forge. Branches and pull requests stay. */
  delete(forgeId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/forges/${forgeId}` }, options);
  }

  /** Lists a page of the repositories that Outrider can use. */
  repositories(
    forgeId: string,
    query?: ListForgeRepositoriesQuery,
    options?: RequestOptions,
  ): ResponsePromise<ListForgeRepositoriesResponse> {
    return this.#http.request(
      { method: "GET", path: path`/agent/forges/${forgeId}/repositories`, query },
      options,
    );
  }

  /** Tests clone, push and pull request with a scratch branch of a repository. */
  test(forgeId: string, body: ForgeTestRequest, options?: RequestOptions): ResponsePromise<ForgeTest> {
    return this.#http.request({ method: "POST", path: path`/agent/forges/${forgeId}/test`, body }, options);
  }

  /** Begins to create a GitHub App. Submit `manifest` in a form to `action_url`. */
  createAppManifest(body: AppManifestRequest = {}, options?: RequestOptions): ResponsePromise<AppManifest> {
    return this.#http.request({ method: "POST", path: "/agent/forge-app-manifests", body }, options);
  }

  /** Finishes creating a GitHub App with the parameters with which GitHub redirects the browser. */
  completeAppManifest(
    manifestId: string,
    body: AppManifestCompletion,
    options?: RequestOptions,
  ): ResponsePromise<Forge> {
    return this.#http.request(
      { method: "POST", path: path`/agent/forge-app-manifests/${manifestId}/complete`, body },
      options,
    );
  }
}
