import { request as octokit } from "@octokit/request";
import type { Endpoints } from "@octokit/types";
import type { ForgeRepository, ForgeTestStep } from "@outrider/contract/forge";
import type { OutboundNetwork } from "../outbound/outbound-network.ts";
import type {
  Conditional,
  FailedCheck,
  ForgeClient,
  ForgeComment,
  ForgePullRequest,
  NewPullRequest,
  RepositoryName,
} from "./forge-client.ts";
import { ForgeError } from "./forge-client.ts";
import { forgeErrorOf, shorten } from "./forge-errors.ts";
import { type ForgeFetch, openForgeFetch } from "./forge-fetch.ts";
import { type GitHubAuth, GitHubTokens, type Permissions } from "./github-tokens.ts";
import { readLogTail } from "./log-tail.ts";
import { testAccess } from "./test-access.ts";

export interface GitHubOptions {
  /** `https://github.com`, or the address of GitHub Enterprise. */
  url: string;
  apiUrl: string;
  auth: GitHubAuth;
  network: OutboundNetwork;
  timeoutMs?: number;
}

interface Call {
  /** What the call does, for error messages. */
  action: string;
  /** The permission in GitHub's own words. */
  needs?: string;
  /** The repository and permissions that an app's token is limited to. */
  repo?: RepositoryName;
  permissions?: Permissions;
  fetch?: ForgeFetch;
}

type Parameters = Record<string, unknown> & { headers?: Record<string, string> };
type Reply<R extends keyof Endpoints> = {
  data: Endpoints[R]["response"]["data"];
  headers: Record<string, unknown>;
};
type PullRequestData = Endpoints["GET /repos/{owner}/{repo}/pulls/{pull_number}"]["response"]["data"];
type CheckRun =
  Endpoints["GET /repos/{owner}/{repo}/commits/{ref}/check-runs"]["response"]["data"]["check_runs"][number];

const PAGE = 50;
const MAX_PAGES = 10;
const MAX_INSTALLATIONS = 10;
/** A page of comments can contain 30 texts of 65,536 characters. */
const COMMENTS_PAGE = 30;
const COMMENTS_BYTES = 8 * 1024 ** 2;
const MAX_CHECKS = 20;
const MAX_LOGS = 5;

const writePulls: Permissions = { pull_requests: "write" };
const readPulls: Permissions = { pull_requests: "read" };
const pullsNeeded = "Pull requests: Read and write";
const contentsNeeded = "Contents: Read and write";

export class GitHubClient implements ForgeClient {
  #options: GitHubOptions;
  #fetch: ForgeFetch;
  #tokens: GitHubTokens;

  constructor(options: GitHubOptions) {
    this.#options = options;
    this.#fetch = openForgeFetch(options.network, {
      ...(options.timeoutMs ? { timeoutMs: options.timeoutMs } : {}),
    });
    this.#tokens = new GitHubTokens({
      auth: options.auth,
      send: (route, parameters, action) => this.#send(route as keyof Endpoints, parameters, { action }),
    });
  }

  async identify(): Promise<{ login: string; kind: "user" | "app" }> {
    if (this.#options.auth.type === "app") {
      const { data } = await this.#asApp("GET /app", {}, { action: "read the app" });
      return { login: `${data?.slug}[bot]`, kind: "app" };
    }
    const { data } = await this.#call("GET /user", {}, { action: "read the user of the token" });
    return { login: data.login, kind: "user" };
  }

  async listRepositories({ query, page = 1 }: { query?: string; page?: number }) {
    const isMatch = ({ repository }: ForgeRepository) =>
      query === undefined || repository.toLowerCase().includes(query.toLowerCase());
    const found: ForgeRepository[] = [];
    if (this.#options.auth.type === "app") {
      const { repositories, hasMore } = await this.#listInstalled();
      const matches = repositories.filter(isMatch);
      return {
        repositories: matches.slice((page - 1) * PAGE, page * PAGE),
        has_more: hasMore || matches.length > page * PAGE,
      };
    }
    // A search needs several pages, because this list has no filter for names.
    const last = query === undefined ? page : page + MAX_PAGES - 1;
    for (let next = page; next <= last; next++) {
      const { data } = await this.#call(
        "GET /user/repos",
        { per_page: PAGE, page: next, sort: "pushed" },
        { action: "list repositories" },
      );
      found.push(...data.map((repo) => describe(repo, repo.permissions?.push === true)).filter(isMatch));
      if (data.length < PAGE) return { repositories: found, has_more: false };
    }
    return { repositories: found, has_more: true };
  }

  async #listInstalled(): Promise<{ repositories: ForgeRepository[]; hasMore: boolean }> {
    const { data: installations } = await this.#asApp(
      "GET /app/installations",
      { per_page: MAX_INSTALLATIONS },
      { action: "list the installations of the app" },
    );
    const repositories: ForgeRepository[] = [];
    for (const { id, permissions, suspended_at } of installations) {
      if (suspended_at) continue;
      const token = await this.#tokens.mint(id, { permissions: { metadata: "read" } });
      for (let page = 1; page <= MAX_PAGES; page++) {
        const { data } = await this.#send(
          "GET /installation/repositories",
          { per_page: PAGE, page, headers: { authorization: `Bearer ${token.token}` } },
          { action: "list repositories" },
        );
        repositories.push(
          ...data.repositories.map((repo) => describe(repo, permissions.contents === "write")),
        );
        if (data.repositories.length < PAGE) break;
        if (page === MAX_PAGES) return { repositories, hasMore: true };
      }
    }
    return { repositories, hasMore: installations.length === MAX_INSTALLATIONS };
  }

  async getRepository(repo: RepositoryName) {
    const call = { action: `read ${repo.owner}/${repo.name}`, needs: "Metadata: Read-only", repo };
    const { data } = await this.#call("GET /repos/{owner}/{repo}", names(repo), {
      ...call,
      permissions: { metadata: "read" },
    });
    const canPush =
      this.#options.auth.type === "app"
        ? (await this.#tokens.installation(repo)).permissions.contents === "write"
        : data.permissions?.push === true;
    return {
      default_branch: data.default_branch,
      can_push: canPush,
      archived: data.archived,
      clone_url: this.#gitUrl(repo),
    };
  }

  async findPullRequest(repo: RepositoryName, { branch }: { branch: string }) {
    const read = async (parameters: Parameters) => {
      const { data } = await this.#call(
        "GET /repos/{owner}/{repo}/pulls",
        { ...names(repo), head: `${repo.owner}:${branch}`, ...parameters },
        { action: "list pull requests", needs: pullsNeeded, repo, permissions: readPulls },
      );
      return data.find(
        ({ head, base }) => head.ref === branch && (!head.repo || head.repo.id === base.repo.id),
      );
    };
    const found =
      (await read({ state: "open", per_page: 10 })) ??
      (await read({ state: "all", sort: "created", direction: "desc", per_page: 10 }));
    return found && toPullRequest(found as unknown as PullRequestData);
  }

  async createPullRequest(repo: RepositoryName, request: NewPullRequest) {
    const { branch, base, title, body, draft, labels, reviewers } = request;
    const warnings: string[] = [];
    const create = async (isDraft: boolean) =>
      this.#call(
        "POST /repos/{owner}/{repo}/pulls",
        { ...names(repo), head: branch, base, title, body, draft: isDraft },
        { action: "create the pull request", needs: pullsNeeded, repo, permissions: writePulls },
      );
    const { data } = await create(draft).catch((error: ForgeError) => {
      if (!draft || error.code !== "invalid" || !/draft pull requests are not supported/i.test(error.message))
        throw error;
      warnings.push("The repository does not support draft pull requests, so this one is not a draft.");
      return create(false);
    });
    warnings.push(...(await this.#addLabels(repo, data.number, labels)));
    warnings.push(...(await this.#requestReviewers(repo, data.number, reviewers)));
    return { ...toPullRequest(data), warnings };
  }

  async #addLabels(repo: RepositoryName, number: number, labels: string[]): Promise<string[]> {
    const warnings: string[] = [];
    const existing: string[] = [];
    const call = { needs: pullsNeeded, repo, permissions: writePulls };
    for (const label of labels) {
      try {
        // GitHub would create a label that does not exist.
        await this.#call(
          "GET /repos/{owner}/{repo}/labels/{name}",
          { ...names(repo), name: label },
          { action: `find the label ${shorten(label, 50)}`, ...call },
        );
        existing.push(label);
      } catch (error) {
        warnings.push(
          `The label “${shorten(label, 50)}” was not added: ${reasonOf(error, "does not exist")}`,
        );
      }
    }
    if (existing.length === 0) return warnings;
    await this.#call(
      "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
      { ...names(repo), issue_number: number, labels: existing },
      { action: "add labels", ...call },
    ).catch((error) => warnings.push(`Labels were not added: ${reasonOf(error)}`));
    return warnings;
  }

  async #requestReviewers(repo: RepositoryName, number: number, reviewers: string[]): Promise<string[]> {
    const ask = (logins: string[]) =>
      this.#call(
        "POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers",
        {
          ...names(repo),
          pull_number: number,
          reviewers: logins.filter((login) => !login.includes("/")),
          // A team is written as `organization/team`.
          team_reviewers: logins.filter((login) => login.includes("/")).map((team) => team.split("/")[1]),
        },
        { action: "request reviewers", needs: pullsNeeded, repo, permissions: writePulls },
      );
    if (reviewers.length === 0) return [];
    const all = await ask(reviewers).catch((error: ForgeError) => error);
    if (!(all instanceof Error)) return [];
    // GitHub rejects the whole list because of one name.
    const warnings: string[] = [];
    for (const reviewer of reviewers) {
      await ask([reviewer]).catch((error) =>
        warnings.push(
          `${shorten(reviewer, 50)} was not requested as reviewer: ${reasonOf(error, "not found")}`,
        ),
      );
    }
    return warnings;
  }

  async updatePullRequest(
    repo: RepositoryName,
    number: number,
    changes: { title?: string; body?: string; state?: "open" | "closed" },
  ): Promise<ForgePullRequest> {
    const { data } = await this.#call(
      "PATCH /repos/{owner}/{repo}/pulls/{pull_number}",
      { ...names(repo), pull_number: number, ...changes },
      { action: `update pull request ${number}`, needs: pullsNeeded, repo, permissions: writePulls },
    );
    return toPullRequest(data);
  }

  async readPullRequest(
    repo: RepositoryName,
    number: number,
    { etag }: { etag?: string },
  ): Promise<Conditional<{ pullRequest: ForgePullRequest }>> {
    const reply = await this.#callIfChanged(
      "GET /repos/{owner}/{repo}/pulls/{pull_number}",
      { ...names(repo), pull_number: number },
      { action: `read pull request ${number}`, needs: pullsNeeded, repo, permissions: readPulls },
      etag,
    );
    if (!reply) return { isUnchanged: true };
    return { isUnchanged: false, ...reply.validator, pullRequest: toPullRequest(reply.data) };
  }

  async listComments(
    repo: RepositoryName,
    number: number,
    { since, etag }: { since?: string; etag?: string },
  ): Promise<Conditional<{ comments: ForgeComment[] }>> {
    const limits = {
      maxBytes: COMMENTS_BYTES,
      ...(this.#options.timeoutMs ? { timeoutMs: this.#options.timeoutMs } : {}),
    };
    const call = {
      action: `list comments of pull request ${number}`,
      needs: pullsNeeded,
      repo,
      permissions: readPulls,
      fetch: openForgeFetch(this.#options.network, limits),
    };
    const [issueTag, reviewTag, lineTag] = splitTags(etag, 3);
    const filter = { per_page: COMMENTS_PAGE, ...(since ? { since } : {}) };
    const issue = await this.#listPages(
      "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
      { ...names(repo), issue_number: number, ...filter },
      call,
      issueTag,
    );
    const reviews = await this.#listPages(
      "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
      { ...names(repo), pull_number: number, per_page: COMMENTS_PAGE },
      call,
      reviewTag,
    );
    const lines = await this.#listPages(
      "GET /repos/{owner}/{repo}/pulls/{pull_number}/comments",
      { ...names(repo), pull_number: number, ...filter },
      call,
      lineTag,
    );
    if (!issue && !reviews && !lines) return { isUnchanged: true };
    const found: Omit<ForgeComment, "isTrusted">[] = [
      ...(issue?.items ?? []).map((comment) => ({
        id: `comment-${comment.id}`,
        kind: "comment" as const,
        ...authorOf(comment.user),
        body: comment.body ?? "",
        url: comment.html_url,
        created_at: comment.created_at,
      })),
      ...(reviews?.items ?? [])
        .filter(({ state, body }) => state !== "PENDING" && body !== "")
        .map((review) => ({
          id: `review-${review.id}`,
          kind: "review" as const,
          ...authorOf(review.user),
          body: review.body,
          url: review.html_url,
          created_at: review.submitted_at ?? "",
        })),
      ...(lines?.items ?? []).map((comment) => ({
        id: `review_comment-${comment.id}`,
        kind: "review_comment" as const,
        ...authorOf(comment.user),
        body: comment.body,
        path: comment.path,
        ...((comment.line ?? comment.original_line)
          ? { line: (comment.line ?? comment.original_line) as number }
          : {}),
        url: comment.html_url,
        created_at: comment.created_at,
      })),
    ];
    const recent = found.filter(
      ({ created_at }) => since === undefined || Date.parse(created_at) >= Date.parse(since),
    );
    const trusted = await this.#findWriters(repo, recent);
    return {
      isUnchanged: false,
      etag: joinTags([issue?.etag ?? issueTag, reviews?.etag ?? reviewTag, lines?.etag ?? lineTag]),
      comments: recent
        .map((comment) => ({ ...comment, isTrusted: trusted.has(comment.author) }))
        .sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at)),
    };
  }

  /** Returns the authors who may write to the repository. An author whose rights cannot be read is not among them. */
  async #findWriters(
    repo: RepositoryName,
    comments: { author: string; isBot: boolean }[],
  ): Promise<Set<string>> {
    const users = new Set(comments.filter(({ isBot }) => !isBot).map(({ author }) => author));
    const writers = new Set<string>();
    for (const username of [...users].slice(0, PAGE)) {
      const reply = await this.#call(
        "GET /repos/{owner}/{repo}/collaborators/{username}/permission",
        { ...names(repo), username },
        { action: "read the permission of a user", repo, permissions: { metadata: "read" } },
      ).catch((error: ForgeError) => {
        if (error.isRetryable) throw error;
        return undefined;
      });
      if (reply && ["admin", "write"].includes(reply.data.permission)) writers.add(username);
    }
    return writers;
  }

  async listFailedChecks(
    repo: RepositoryName,
    commit: string,
    { etag }: { etag?: string },
  ): Promise<Conditional<{ isComplete: boolean; checks: FailedCheck[] }>> {
    const [runsTag, statusTag] = splitTags(etag, 2);
    const granted = await this.#grantedPermissions(repo);
    const reads = (name: string) => granted === undefined || granted[name] !== undefined;
    const parameters = { ...names(repo), ref: commit, per_page: PAGE };
    const runs = reads("checks")
      ? await this.#callIfChanged(
          "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
          parameters,
          { action: "list checks", needs: "Checks: Read-only", repo, permissions: { checks: "read" } },
          runsTag,
        )
      : { data: { check_runs: [] as CheckRun[] }, validator: {} as { etag?: string } };
    const status = reads("statuses")
      ? await this.#callIfChanged(
          "GET /repos/{owner}/{repo}/commits/{ref}/status",
          parameters,
          {
            action: "read commit statuses",
            needs: "Commit statuses: Read-only",
            repo,
            permissions: { statuses: "read" },
          },
          statusTag,
        )
      : undefined;
    if (!runs && !status) return { isUnchanged: true };
    // One of the two may be unchanged, but the result needs both.
    if ((etag !== undefined && !runs) || (etag !== undefined && !status && reads("statuses")))
      return this.listFailedChecks(repo, commit, {});
    const checkRuns = runs?.data.check_runs ?? [];
    const failedRuns = checkRuns.filter(
      ({ conclusion }) => conclusion === "failure" || conclusion === "timed_out",
    );
    const statuses = status?.data.statuses ?? [];
    const failedStatuses = statuses.filter(({ state }) => state === "failure" || state === "error");
    const checks = await this.#describeRuns(repo, failedRuns.slice(0, MAX_CHECKS), reads("actions"));
    return {
      isUnchanged: false,
      etag: joinTags([runs?.validator.etag, status?.validator.etag]),
      isComplete:
        checkRuns.every((run) => run.status === "completed") &&
        statuses.every(({ state }) => state !== "pending"),
      checks: [
        ...checks,
        ...failedStatuses.slice(0, MAX_CHECKS).map(({ context, state, target_url, description, id }) => ({
          id: `status-${id}`,
          name: context,
          conclusion: state,
          ...(target_url ? { url: target_url } : {}),
          ...(description ? { summary: description } : {}),
        })),
      ],
    };
  }

  /** The permissions that the app was granted, or undefined for a token, whose permissions cannot be read. */
  async #grantedPermissions(repo: RepositoryName): Promise<Permissions | undefined> {
    return this.#options.auth.type === "app"
      ? (await this.#tokens.installation(repo)).permissions
      : undefined;
  }

  async #describeRuns(repo: RepositoryName, runs: CheckRun[], readsLogs: boolean): Promise<FailedCheck[]> {
    const checks: FailedCheck[] = [];
    for (const run of runs) {
      const { title, summary, text } = run.output;
      const about = [title, summary, text].filter(Boolean).join("\n\n").slice(0, 4_000);
      const isActions = run.app?.slug === "github-actions";
      const log =
        isActions && readsLogs && checks.length < MAX_LOGS
          ? await this.#readLog(repo, Number(run.id))
          : undefined;
      const url = run.html_url ?? run.details_url;
      checks.push({
        id: `check-${run.id}`,
        name: run.name,
        conclusion: run.conclusion ?? "failure",
        ...(url ? { url } : {}),
        ...(about ? { summary: about } : {}),
        ...(log ? { log_tail: log } : {}),
      });
    }
    return checks;
  }

  /** Returns the end of a job's log. It is optional, so a failure to read it is ignored. */
  async #readLog(repo: RepositoryName, jobId: number): Promise<string | undefined> {
    const token = await this.#tokens.forApi(repo, { actions: "read" }).catch(() => undefined);
    if (!token) return undefined;
    const path = `repos/${encodeURIComponent(repo.owner)}/${encodeURIComponent(repo.name)}/actions/jobs/${jobId}/logs`;
    return readLogTail(this.#options.network, {
      url: `${this.#options.apiUrl}/${path}`,
      headers: { authorization: `Bearer ${token}`, accept: "application/vnd.github+json" },
    });
  }

  async gitCredential(repo: RepositoryName, { write }: { write: boolean }) {
    const { auth } = this.#options;
    if (auth.type === "token") return { credential: `x-access-token:${auth.token}` };
    const { id, permissions: granted } = await this.#tokens.installation(repo);
    const permissions: Permissions = {
      contents: write ? "write" : "read",
      // GitHub rejects commits that change workflows without it. Apps that Outrider creates do not have it.
      ...(write && granted.workflows === "write" ? { workflows: "write" } : {}),
    };
    const { token, expires_at } = await this.#tokens.mint(id, { repository: repo.name, permissions });
    return { credential: `x-access-token:${token}`, expires_at };
  }

  testAccess(repo: RepositoryName, onStep?: (step: ForgeTestStep) => void): Promise<ForgeTestStep[]> {
    const contents = { needs: contentsNeeded, repo, permissions: { contents: "write" } as const };
    return testAccess({
      client: this,
      repo,
      fetch: this.#fetch,
      gitUrl: this.#gitUrl(repo),
      permissions: { read: "Contents: Read-only", write: contentsNeeded, pullRequest: pullsNeeded },
      pushScratchBranch: async ({ branch, base, file, message }) => {
        const { data } = await this.#call(
          "GET /repos/{owner}/{repo}/git/ref/{ref}",
          { ...names(repo), ref: `heads/${base}` },
          { action: `read the branch ${base}`, ...contents },
        );
        await this.#call(
          "POST /repos/{owner}/{repo}/git/refs",
          { ...names(repo), ref: `refs/heads/${branch}`, sha: data.object.sha },
          { action: `create the branch ${branch}`, ...contents },
        );
        await this.#call(
          "PUT /repos/{owner}/{repo}/contents/{path}",
          {
            ...names(repo),
            path: file,
            message,
            content: Buffer.from(`${message}\n`).toString("base64"),
            branch,
          },
          { action: `commit to the branch ${branch}`, ...contents },
        );
      },
      deleteBranch: async (branch) => {
        await this.#call(
          "DELETE /repos/{owner}/{repo}/git/refs/{ref}",
          { ...names(repo), ref: `heads/${branch}` },
          { action: `delete the branch ${branch}`, ...contents },
        );
      },
      ...(onStep ? { onStep } : {}),
    });
  }

  #gitUrl({ owner, name }: RepositoryName): string {
    return `${this.#options.url}/${owner}/${name}.git`;
  }

  /** Reads all pages of a list, up to a maximum, or returns undefined if the first page is unchanged. */
  async #listPages<R extends keyof Endpoints>(
    route: R,
    parameters: Parameters,
    call: Call,
    etag: string | undefined,
  ): Promise<{ items: Reply<R>["data"] & unknown[]; etag?: string } | undefined> {
    const first = await this.#callIfChanged(route, { ...parameters, page: 1 }, call, etag);
    if (!first) return undefined;
    const items = [...(first.data as unknown[])];
    for (let page = 2; page <= MAX_PAGES && items.length === (page - 1) * COMMENTS_PAGE; page++) {
      const { data } = await this.#call(route, { ...parameters, page }, call);
      items.push(...(data as unknown[]));
    }
    // The first page does not change if a later page does, so its ETag says nothing about a longer list.
    const isWhole = items.length < COMMENTS_PAGE;
    return { items: items as never, ...(isWhole ? first.validator : {}) };
  }

  async #callIfChanged<R extends keyof Endpoints>(
    route: R,
    parameters: Parameters,
    call: Call,
    etag: string | undefined,
  ): Promise<{ data: Reply<R>["data"]; validator: { etag?: string } } | undefined> {
    const headers = etag ? { "if-none-match": etag } : {};
    const reply = await this.#call(route, { ...parameters, headers }, call).catch((error) => {
      if (error === unchanged) return undefined;
      throw error;
    });
    if (!reply) return undefined;
    const tag = reply.headers.etag;
    return { data: reply.data, validator: typeof tag === "string" ? { etag: tag } : {} };
  }

  /** Calls the API with a credential. An app's token that has become invalid is replaced once. */
  async #call<R extends keyof Endpoints>(route: R, parameters: Parameters, call: Call): Promise<Reply<R>> {
    const { repo, permissions = {} } = call;
    const send = async () => {
      const token =
        this.#options.auth.type === "token"
          ? this.#options.auth.token
          : await this.#tokens.forApi(repo as RepositoryName, permissions);
      const headers = { ...parameters.headers, authorization: `Bearer ${token}` };
      return this.#send(route, { ...parameters, headers }, call);
    };
    return send().catch((error) => {
      const isStale = error instanceof ForgeError && error.code === "unauthorized";
      if (!isStale || this.#options.auth.type === "token" || !repo) throw error;
      this.#tokens.forget(repo);
      return send();
    });
  }

  async #asApp<R extends keyof Endpoints>(route: R, parameters: Parameters, call: Call): Promise<Reply<R>> {
    const headers = { ...parameters.headers, authorization: `Bearer ${await this.#tokens.jwt()}` };
    return this.#send(route, { ...parameters, headers }, call);
  }

  async #send<R extends keyof Endpoints>(route: R, parameters: Parameters, call: Call): Promise<Reply<R>> {
    const send = octokit.defaults({
      baseUrl: this.#options.apiUrl,
      headers: { "user-agent": "outrider", "x-github-api-version": "2022-11-28" },
      request: { fetch: call.fetch ?? this.#fetch, log: { warn: () => {} } },
    });
    try {
      return (await send(route as string, parameters)) as unknown as Reply<R>;
    } catch (error) {
      throw toForgeError(error, call);
    }
  }
}

/** Thrown for a response with status 304. */
const unchanged = new Error("unchanged");

function toForgeError(error: unknown, { action, needs }: Call): Error {
  const { cause, response, message } = error as {
    cause?: unknown;
    message: string;
    response?: { status: number; headers: Record<string, string>; data: unknown };
  };
  if (error instanceof ForgeError) return error;
  if (cause instanceof ForgeError) return cause;
  if (!response) return error as Error;
  if (response.status === 304) return unchanged;
  const text = (response.data as { message?: unknown } | undefined)?.message;
  const details = (response.data as { errors?: unknown } | undefined)?.errors;
  const reasons = Array.isArray(details)
    ? details
        .map((item) => (typeof item === "string" ? item : item?.message))
        .filter((item) => typeof item === "string")
    : [];
  return forgeErrorOf({
    product: "GitHub",
    action,
    ...(needs ? { needs } : {}),
    status: response.status,
    message: [typeof text === "string" ? text : message, ...reasons].join(": "),
    headers: new Headers(response.headers),
  });
}

function names({ owner, name }: RepositoryName) {
  return { owner, repo: name };
}

function describe(
  repo: { full_name: string; default_branch?: string | undefined; private: boolean },
  canPush: boolean,
): ForgeRepository {
  return {
    repository: repo.full_name,
    default_branch: repo.default_branch ?? "main",
    can_push: canPush,
    is_private: repo.private,
  };
}

function toPullRequest(data: PullRequestData): ForgePullRequest {
  const isMerged = data.merged === true || Boolean(data.merged_at);
  const open = data.draft ? "draft" : "open";
  return {
    number: data.number,
    url: data.html_url,
    state: data.state === "open" ? open : isMerged ? "merged" : "closed",
    title: data.title,
    branch: data.head.ref,
    base: data.base.ref,
    head_commit: data.head.sha,
    ...(typeof data.mergeable === "boolean" ? { mergeable: data.mergeable } : {}),
    updated_at: data.updated_at,
  };
}

function authorOf(user: { login: string; type?: string } | null | undefined) {
  return { author: user?.login ?? "ghost", isBot: user?.type === "Bot" };
}

function reasonOf(error: unknown, notFound?: string): string {
  const { code, message } = error as ForgeError;
  return notFound && (code === "not_found" || code === "invalid") ? `${notFound}.` : message;
}

/** Several ETags are stored as one, as a JSON list. */
function splitTags(etag: string | undefined, count: number): (string | undefined)[] {
  try {
    const tags = JSON.parse(etag ?? "[]");
    return Array.from({ length: count }, (_, index) =>
      typeof tags[index] === "string" ? tags[index] : undefined,
    );
  } catch {
    return [];
  }
}

function joinTags(tags: (string | undefined)[]): string {
  return JSON.stringify(tags.map((tag) => tag ?? null));
}
