import type { ForgeRepository, ForgeTestStep } from "@outrider/contract/forge";
import { type Api, giteaApi, type PullRequest, type User } from "gitea-js";
import type { OutboundNetwork } from "../outbound/outbound-network.ts";
import { compareContent } from "./content-tag.ts";
import type {
  Conditional,
  FailedCheck,
  ForgeClient,
  ForgeComment,
  ForgeError,
  ForgePullRequest,
  NewPullRequest,
  RepositoryName,
} from "./forge-client.ts";
import { forgeErrorOf, shorten } from "./forge-errors.ts";
import { type ForgeFetch, openForgeFetch } from "./forge-fetch.ts";
import { testAccess } from "./test-access.ts";

export interface GiteaOptions {
  /** The address of Gitea or Forgejo, without a slash at the end. */
  url: string;
  token: string;
  network: OutboundNetwork;
  timeoutMs?: number;
}

type Client = Api<unknown>;

const PAGE = 30;
const MAX_PAGES = 10;
const MAX_REVIEWS = 30;
const MAX_CHECKS = 20;
const COMMENTS_BYTES = 8 * 1024 ** 2;
/** Gitea treats pull requests with this prefix as drafts. */
const draftPrefix = /^(WIP:|\[WIP\])\s*/i;

const repositoryScope = "write:repository";
const issueScope = "write:issue";

/** A client of Gitea and Forgejo, which have the same API. */
export class GiteaClient implements ForgeClient {
  #options: GiteaOptions;
  #fetch: ForgeFetch;
  #api: Client;
  #commentsApi: Client;

  constructor(options: GiteaOptions) {
    this.#options = options;
    const limits = options.timeoutMs ? { timeoutMs: options.timeoutMs } : {};
    this.#fetch = openForgeFetch(options.network, limits);
    this.#api = this.#connect(this.#fetch);
    this.#commentsApi = this.#connect(
      openForgeFetch(options.network, { ...limits, maxBytes: COMMENTS_BYTES }),
    );
  }

  #connect(fetch: ForgeFetch): Client {
    return giteaApi(this.#options.url, {
      token: this.#options.token,
      customFetch: ((url: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers);
        // The client omits the type for some operations, and Gitea then ignores the body.
        if (typeof init.body === "string" && !headers.has("content-type"))
          headers.set("content-type", "application/json");
        return fetch(url, { ...init, headers });
      }) as typeof globalThis.fetch,
    });
  }

  async identify(): Promise<{ login: string; kind: "user" | "app" }> {
    const { login } = await this.#call("read the user of the token", "read:user", () =>
      this.#api.user.userGetCurrent(),
    );
    return { login: login ?? "", kind: "user" };
  }

  async listRepositories({ query, page = 1 }: { query?: string; page?: number }) {
    const { id } = await this.#call("read the user of the token", "read:user", () =>
      this.#api.user.userGetCurrent(),
    );
    const { data = [] } = await this.#call("list repositories", repositoryScope, () =>
      this.#api.repos.repoSearch({
        ...(query ? { q: query } : {}),
        ...(id ? { uid: id } : {}),
        sort: "updated",
        order: "desc",
        page,
        limit: PAGE,
      }),
    );
    const repositories = data.map(
      (repo): ForgeRepository => ({
        repository: repo.full_name ?? "",
        default_branch: repo.default_branch ?? "main",
        can_push: repo.permissions?.push === true,
        is_private: repo.private === true,
      }),
    );
    return { repositories, has_more: data.length === PAGE };
  }

  async getRepository(repo: RepositoryName) {
    const data = await this.#call(`read ${repo.owner}/${repo.name}`, repositoryScope, () =>
      this.#api.repos.repoGet(...path(repo)),
    );
    return {
      default_branch: data.default_branch ?? "main",
      can_push: data.permissions?.push === true,
      archived: data.archived === true,
      clone_url: this.#gitUrl(repo),
    };
  }

  async findPullRequest(repo: RepositoryName, { branch, base }: { branch: string; base?: string }) {
    // Gitea has no filter for branches.
    const direct = base === undefined ? undefined : await this.#findOpen(repo, { branch, base });
    const found =
      direct ??
      (await this.#searchPullRequests(repo, { branch, state: "open" })) ??
      (await this.#searchPullRequests(repo, { branch, state: "closed" }));
    return found && toPullRequest(found);
  }

  async #findOpen(
    repo: RepositoryName,
    { branch, base }: { branch: string; base: string },
  ): Promise<PullRequest | undefined> {
    const names = [encodeURIComponent(base), encodeURIComponent(branch)] as const;
    const found = await this.#call("find the pull request", repositoryScope, () =>
      this.#api.repos.repoGetPullRequestByBaseHead(...path(repo), ...names),
    ).catch((error: ForgeError) => {
      if (error.code === "not_found") return undefined;
      throw error;
    });
    return found && isOf(found, branch) ? found : undefined;
  }

  async #searchPullRequests(
    repo: RepositoryName,
    { branch, state }: { branch: string; state: "open" | "closed" },
  ): Promise<PullRequest | undefined> {
    for (let page = 1; page <= MAX_PAGES; page++) {
      const list = await this.#call("list pull requests", repositoryScope, () =>
        this.#api.repos.repoListPullRequests(...path(repo), {
          state,
          sort: "recentupdate",
          page,
          limit: PAGE,
        }),
      );
      const matches = list
        .filter((pull) => isOf(pull, branch))
        .sort((a, b) => (b.number ?? 0) - (a.number ?? 0));
      if (matches[0]) return matches[0];
      if (list.length === 0) return undefined;
    }
    return undefined;
  }

  async createPullRequest(repo: RepositoryName, request: NewPullRequest) {
    const { branch, base, title, body, draft, labels, reviewers } = request;
    const warnings: string[] = [];
    const known = labels.length > 0 ? await this.#findLabels(repo, labels, warnings) : [];
    const data = await this.#call("create the pull request", repositoryScope, () =>
      this.#api.repos.repoCreatePullRequest(...path(repo), {
        head: branch,
        base,
        title: draft ? `WIP: ${title}` : title,
        body,
        ...(known.length > 0 ? { labels: known } : {}),
      }),
    );
    warnings.push(...(await this.#requestReviewers(repo, data.number ?? 0, reviewers)));
    return { ...toPullRequest(data), warnings };
  }

  /** Returns the ids of labels by name, and adds a warning for each that does not exist. */
  async #findLabels(repo: RepositoryName, labels: string[], warnings: string[]): Promise<number[]> {
    const ids = new Map<string, number>();
    try {
      for (let page = 1; page <= MAX_PAGES; page++) {
        const list = await this.#call("list labels", issueScope, () =>
          this.#api.repos.issueListLabels(...path(repo), { page, limit: PAGE }),
        );
        for (const { id, name } of list) if (id !== undefined && name !== undefined) ids.set(name, id);
        if (list.length === 0) break;
      }
    } catch (error) {
      warnings.push(`Labels were not added: ${(error as ForgeError).message}`);
      return [];
    }
    const missing = labels.filter((label) => !ids.has(label));
    warnings.push(
      ...missing.map((label) => `The label “${shorten(label, 50)}” was not added: does not exist.`),
    );
    return labels.flatMap((label) => ids.get(label) ?? []);
  }

  async #requestReviewers(repo: RepositoryName, number: number, reviewers: string[]): Promise<string[]> {
    const warnings: string[] = [];
    // One name that does not exist makes Gitea reject the whole list.
    for (const reviewer of reviewers) {
      const [, team] = reviewer.split("/");
      await this.#call("request reviewers", repositoryScope, () =>
        this.#api.repos.repoCreatePullReviewRequests(
          ...path(repo),
          number,
          team === undefined ? { reviewers: [reviewer] } : { team_reviewers: [team] },
        ),
      ).catch((error: ForgeError) =>
        warnings.push(`${shorten(reviewer, 50)} was not requested as reviewer: ${error.message}`),
      );
    }
    return warnings;
  }

  async updatePullRequest(
    repo: RepositoryName,
    number: number,
    { title, body, state }: { title?: string; body?: string; state?: "open" | "closed" },
  ): Promise<ForgePullRequest> {
    // The title of a draft keeps its prefix.
    const isDraft = title !== undefined && (await this.#read(repo, number)).state === "draft";
    const data = await this.#call(`update pull request ${number}`, repositoryScope, () =>
      this.#api.repos.repoEditPullRequest(...path(repo), number, {
        ...(title === undefined ? {} : { title: isDraft ? `WIP: ${title}` : title }),
        ...(body === undefined ? {} : { body }),
        ...(state === undefined ? {} : { state }),
      }),
    );
    return toPullRequest(data);
  }

  async #read(repo: RepositoryName, number: number): Promise<ForgePullRequest> {
    const data = await this.#call(`read pull request ${number}`, repositoryScope, () =>
      this.#api.repos.repoGetPullRequest(...path(repo), number),
    );
    return toPullRequest(data);
  }

  async readPullRequest(
    repo: RepositoryName,
    number: number,
    { etag }: { etag?: string },
  ): Promise<Conditional<{ pullRequest: ForgePullRequest }>> {
    return compareContent({ pullRequest: await this.#read(repo, number) }, etag);
  }

  async listComments(
    repo: RepositoryName,
    number: number,
    { since, etag }: { since?: string; etag?: string },
  ): Promise<Conditional<{ comments: ForgeComment[] }>> {
    const action = `list comments of pull request ${number}`;
    const isRecent = (time: string | undefined) =>
      since === undefined || time === undefined || Date.parse(time) >= Date.parse(since);
    const comments = await this.#call(action, issueScope, () =>
      this.#commentsApi.repos.issueGetComments(...path(repo), number, since ? { since } : {}),
    );
    const found: Omit<ForgeComment, "isTrusted">[] = comments.map((comment) => ({
      id: `comment-${comment.id}`,
      kind: "comment",
      ...authorOf(comment.user),
      body: comment.body ?? "",
      url: comment.html_url ?? "",
      created_at: comment.created_at ?? "",
    }));
    for (const review of await this.#listReviews(repo, number, isRecent)) {
      if (review.body) {
        found.push({
          id: `review-${review.id}`,
          kind: "review",
          ...authorOf(review.user),
          body: review.body,
          url: review.html_url ?? "",
          created_at: review.submitted_at ?? "",
        });
      }
      if (!review.comments_count) continue;
      const lines = await this.#call(action, repositoryScope, () =>
        this.#commentsApi.repos.repoGetPullReviewComments(...path(repo), number, review.id ?? 0),
      );
      for (const comment of lines) {
        const line = comment.position || comment.original_position;
        found.push({
          id: `review_comment-${comment.id}`,
          kind: "review_comment",
          ...authorOf(comment.user),
          body: comment.body ?? "",
          ...(comment.path ? { path: comment.path } : {}),
          ...(line ? { line } : {}),
          url: comment.html_url ?? "",
          created_at: comment.created_at ?? "",
        });
      }
    }
    const recent = found.filter(({ created_at }) => isRecent(created_at));
    const writers = await this.#findWriters(repo, recent);
    return compareContent(
      {
        comments: recent
          .map((comment) => ({ ...comment, isTrusted: writers.has(comment.author) }))
          .sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at)),
      },
      etag,
    );
  }

  /** Returns the newest submitted reviews. Gitea lists the oldest first. */
  async #listReviews(repo: RepositoryName, number: number, isRecent: (time: string | undefined) => boolean) {
    const reviews = [];
    for (let page = 1; page <= MAX_PAGES; page++) {
      const list = await this.#call(`list reviews of pull request ${number}`, repositoryScope, () =>
        this.#commentsApi.repos.repoListPullReviews(...path(repo), number, { page, limit: PAGE }),
      );
      reviews.push(...list);
      if (list.length === 0) break;
    }
    return reviews
      .filter(
        ({ state, submitted_at }) =>
          state !== "PENDING" && state !== "REQUEST_REVIEW" && isRecent(submitted_at),
      )
      .slice(-MAX_REVIEWS);
  }

  /**
   * Returns the authors who may write to the repository. Gitea shows permissions only to administrators of the
   * repository. With another token, only its owner and the user of the token count.
   */
  async #findWriters(repo: RepositoryName, comments: { author: string }[]): Promise<Set<string>> {
    const writers = new Set<string>();
    for (const author of new Set(comments.map((comment) => comment.author))) {
      const rights = await this.#call("read the permission of a user", repositoryScope, () =>
        this.#api.repos.repoGetRepoPermissions(...path(repo), encodeURIComponent(author)),
      ).catch((error: ForgeError) => {
        if (error.isRetryable) throw error;
        return { permission: author.toLowerCase() === repo.owner.toLowerCase() ? "owner" : "none" };
      });
      if (["owner", "admin", "write"].includes(rights.permission ?? "")) writers.add(author);
    }
    return writers;
  }

  async listFailedChecks(
    repo: RepositoryName,
    commit: string,
    { etag }: { etag?: string },
  ): Promise<Conditional<{ isComplete: boolean; checks: FailedCheck[] }>> {
    const { statuses } = await this.#call("read commit statuses", repositoryScope, () =>
      this.#api.repos.repoGetCombinedStatusByRef(...path(repo), encodeURIComponent(commit), { limit: 50 }),
    );
    // Gitea sends null instead of an empty list.
    const all = statuses ?? [];
    const failed = all.filter(({ status }) => status === "failure" || status === "error");
    const checks = failed.slice(0, MAX_CHECKS).map((status): FailedCheck => {
      const url = status.target_url ? new URL(status.target_url, this.#options.url).href : undefined;
      return {
        id: `status-${status.id}`,
        name: status.context ?? "",
        conclusion: status.status ?? "failure",
        ...(url ? { url } : {}),
        ...(status.description ? { summary: status.description } : {}),
      };
    });
    return compareContent({ isComplete: all.every(({ status }) => status !== "pending"), checks }, etag);
  }

  async gitCredential(): Promise<{ credential: string }> {
    // Gitea takes the user from the token.
    return { credential: `outrider:${this.#options.token}` };
  }

  testAccess(repo: RepositoryName, onStep?: (step: ForgeTestStep) => void): Promise<ForgeTestStep[]> {
    return testAccess({
      client: this,
      repo,
      fetch: this.#fetch,
      gitUrl: this.#gitUrl(repo),
      permissions: { read: "read:repository", write: repositoryScope, pullRequest: repositoryScope },
      pushScratchBranch: async ({ branch, base, file, message }) => {
        await this.#call(`commit to the branch ${branch}`, repositoryScope, () =>
          this.#api.repos.repoCreateFile(...path(repo), file, {
            branch: base,
            new_branch: branch,
            message,
            content: Buffer.from(`${message}\n`).toString("base64"),
          }),
        );
      },
      deleteBranch: async (branch) => {
        await this.#call(`delete the branch ${branch}`, repositoryScope, () =>
          this.#api.repos.repoDeleteBranch(...path(repo), encodeURIComponent(branch)),
        );
      },
      ...(onStep ? { onStep } : {}),
    });
  }

  #gitUrl({ owner, name }: RepositoryName): string {
    return `${this.#options.url}/${owner}/${name}.git`;
  }

  async #call<T>(action: string, needs: string, send: () => Promise<{ data: T }>): Promise<T> {
    try {
      return (await send()).data;
    } catch (error) {
      // The client throws unsuccessful responses.
      if (!(error instanceof Response)) throw error;
      const { message } = ((error as { error?: unknown }).error ?? {}) as { message?: unknown };
      throw forgeErrorOf({
        product: "Gitea",
        action,
        needs,
        status: error.status,
        message: typeof message === "string" ? message : "",
        headers: error.headers,
      });
    }
  }
}

/** The client does not encode path parameters. */
function path({ owner, name }: RepositoryName): [string, string] {
  return [encodeURIComponent(owner), encodeURIComponent(name)];
}

/** Whether a pull request comes from this branch of the repository itself, and not from a fork. */
function isOf({ head, base }: PullRequest, branch: string): boolean {
  return head?.ref === branch && head.repo_id === base?.repo_id;
}

function toPullRequest(data: PullRequest): ForgePullRequest {
  const title = data.title ?? "";
  const isDraft = data.draft ?? draftPrefix.test(title);
  return {
    number: data.number ?? 0,
    url: data.html_url ?? "",
    state: data.merged ? "merged" : data.state === "closed" ? "closed" : isDraft ? "draft" : "open",
    title: isDraft ? title.replace(draftPrefix, "") : title,
    branch: data.head?.ref ?? "",
    base: data.base?.ref ?? "",
    head_commit: data.head?.sha ?? "",
    // Gitea never calls a draft mergeable.
    ...(data.mergeable === undefined || isDraft ? {} : { mergeable: data.mergeable }),
    updated_at: data.updated_at ?? "",
  };
}

function authorOf(user: User | undefined) {
  const author = user?.login ?? "ghost";
  return { author, isBot: author.endsWith("[bot]") || author === "gitea-actions" };
}
