import {
  Branches,
  Commits,
  MergeRequestNotes,
  MergeRequests,
  ProjectLabels,
  ProjectMembers,
  Projects,
  Users,
} from "@gitbeaker/core";
import { createRequesterFn, type FormattedResponse } from "@gitbeaker/requester-utils";
import type { ForgeRepository, ForgeTestStep } from "@outrider/contract/forge";
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
import { readLogTail } from "./log-tail.ts";
import { testAccess } from "./test-access.ts";

export interface GitLabOptions {
  /** `https://gitlab.com`, or the address of a self-hosted GitLab, without a slash at the end. */
  url: string;
  token: string;
  network: OutboundNetwork;
  timeoutMs?: number;
}

const PAGE = 30;
const COMMENTS_PAGES = 3;
const MAX_CHECKS = 20;
const MAX_LOGS = 5;
/** Members from this level on may push. */
const DEVELOPER = 30;
const COMMENTS_BYTES = 8 * 1024 ** 2;
/** GitLab treats merge requests with this prefix as drafts. */
const draftPrefix = /^(draft:|\[draft\]|\(draft\))\s*/i;

const scope = "api";

/** What GitLab sends, as far as this client reads it. */
interface MergeRequest {
  iid: number;
  web_url: string;
  state: string;
  draft?: boolean;
  title: string;
  source_branch: string;
  target_branch: string;
  sha: string;
  has_conflicts?: boolean;
  updated_at: string;
  source_project_id: number;
  target_project_id: number;
}

interface Project {
  path_with_namespace: string;
  default_branch: string | null;
  visibility: string;
  archived: boolean;
  permissions?: { project_access?: Access | null; group_access?: Access | null };
}

interface Access {
  access_level: number;
}

interface Note {
  id: number;
  body: string;
  system: boolean;
  created_at: string;
  author: { id: number; username: string; bot?: boolean };
  position?: {
    new_path?: string;
    old_path?: string;
    new_line?: number | null;
    old_line?: number | null;
  } | null;
}

interface Status {
  id: number;
  name: string;
  status: string;
  allow_failure?: boolean;
  target_url?: string | null;
  description?: string | null;
}

/** GitLab's merge requests are called pull requests here, as on the other forges. */
export class GitLabClient implements ForgeClient {
  #options: GitLabOptions;
  #fetch: ForgeFetch;
  #resources;
  #notes: MergeRequestNotes;

  constructor(options: GitLabOptions) {
    this.#options = options;
    const limits = options.timeoutMs ? { timeoutMs: options.timeoutMs } : {};
    this.#fetch = openForgeFetch(options.network, limits);
    const settings = this.#settings(this.#fetch);
    this.#resources = {
      users: new Users(settings),
      projects: new Projects(settings),
      mergeRequests: new MergeRequests(settings),
      labels: new ProjectLabels(settings),
      members: new ProjectMembers(settings),
      commits: new Commits(settings),
      branches: new Branches(settings),
    };
    this.#notes = new MergeRequestNotes(
      this.#settings(openForgeFetch(options.network, { ...limits, maxBytes: COMMENTS_BYTES })),
    );
  }

  #settings(fetch: ForgeFetch) {
    const requesterFn = createRequesterFn(
      async (_, options) => options,
      (endpoint, options) =>
        send(fetch, endpoint, options as RequestOptions) as Promise<FormattedResponse<never>>,
    );
    return { host: this.#options.url, token: this.#options.token, requesterFn };
  }

  async identify(): Promise<{ login: string; kind: "user" | "app" }> {
    const user = await this.#call("read the user of the token", () =>
      this.#resources.users.showCurrentUser(),
    );
    return { login: user.username, kind: "user" };
  }

  async listRepositories({ query, page = 1 }: { query?: string; page?: number }) {
    const data = (await this.#call("list projects", () =>
      this.#resources.projects.all({
        membership: true,
        ...(query ? { search: query, searchNamespaces: true } : {}),
        orderBy: "last_activity_at",
        perPage: PAGE,
        pagination: "offset",
        page,
        maxPages: 1,
      }),
    )) as unknown as Project[];
    const repositories = data.map(
      (project): ForgeRepository => ({
        repository: project.path_with_namespace,
        default_branch: project.default_branch ?? "main",
        can_push: canPush(project),
        is_private: project.visibility !== "public",
      }),
    );
    return { repositories, has_more: data.length === PAGE };
  }

  async getRepository(repo: RepositoryName) {
    const project = (await this.#call(`read ${idOf(repo)}`, () =>
      this.#resources.projects.show(idOf(repo)),
    )) as unknown as Project;
    return {
      default_branch: project.default_branch ?? "main",
      can_push: canPush(project),
      archived: project.archived,
      clone_url: this.#gitUrl(repo),
    };
  }

  async findPullRequest(repo: RepositoryName, { branch }: { branch: string }) {
    const read = async (state: "opened" | "all") => {
      const list = (await this.#call("list merge requests", () =>
        this.#resources.mergeRequests.all({
          projectId: idOf(repo),
          sourceBranch: branch,
          ...(state === "opened" ? { state } : {}),
          orderBy: "created_at",
          sort: "desc",
          perPage: 10,
          maxPages: 1,
        }),
      )) as unknown as MergeRequest[];
      return list.find(
        (item) => item.source_branch === branch && item.source_project_id === item.target_project_id,
      );
    };
    const found = (await read("opened")) ?? (await read("all"));
    return found && toPullRequest(found);
  }

  async createPullRequest(repo: RepositoryName, request: NewPullRequest) {
    const { branch, base, title, body, draft, labels, reviewers } = request;
    const warnings: string[] = [];
    const known = await this.#findLabels(repo, labels, warnings);
    const reviewerIds = await this.#findUsers(reviewers, warnings);
    const data = await this.#call("create the merge request", () =>
      this.#resources.mergeRequests.create(idOf(repo), branch, base, draft ? `Draft: ${title}` : title, {
        description: body,
        ...(known.length > 0 ? { labels: known.join(",") } : {}),
        ...(reviewerIds.length > 0 ? { reviewerIds } : {}),
      }),
    );
    return { ...toPullRequest(data as unknown as MergeRequest), warnings };
  }

  /** GitLab would create labels that do not exist. */
  async #findLabels(repo: RepositoryName, labels: string[], warnings: string[]): Promise<string[]> {
    const known: string[] = [];
    for (const label of labels) {
      await this.#call("find a label", () => this.#resources.labels.show(idOf(repo), label)).then(
        () => known.push(label),
        (error: ForgeError) =>
          warnings.push(
            `The label “${shorten(label, 50)}” was not added: ${error.code === "not_found" ? "does not exist." : error.message}`,
          ),
      );
    }
    return known;
  }

  async #findUsers(usernames: string[], warnings: string[]): Promise<number[]> {
    const ids: number[] = [];
    for (const username of usernames) {
      const found = await this.#call("find a user", () =>
        this.#resources.users.all({ username, perPage: 1, maxPages: 1 }),
      ).catch((error: ForgeError) => error);
      const user = found instanceof Error ? undefined : found[0];
      if (user) ids.push(user.id);
      else {
        const reason = found instanceof Error ? found.message : "not found.";
        warnings.push(`${shorten(username, 50)} was not requested as reviewer: ${reason}`);
      }
    }
    return ids;
  }

  async updatePullRequest(
    repo: RepositoryName,
    number: number,
    { title, body, state }: { title?: string; body?: string; state?: "open" | "closed" },
  ): Promise<ForgePullRequest> {
    // The title of a draft keeps its prefix.
    const isDraft = title !== undefined && (await this.#read(repo, number)).state === "draft";
    const data = await this.#call(`update merge request ${number}`, () =>
      this.#resources.mergeRequests.edit(idOf(repo), number, {
        ...(title === undefined ? {} : { title: isDraft ? `Draft: ${title}` : title }),
        ...(body === undefined ? {} : { description: body }),
        ...(state === undefined ? {} : { stateEvent: state === "closed" ? "close" : "reopen" }),
      }),
    );
    return toPullRequest(data as unknown as MergeRequest);
  }

  async #read(repo: RepositoryName, number: number): Promise<ForgePullRequest> {
    const data = await this.#call(`read merge request ${number}`, () =>
      this.#resources.mergeRequests.show(idOf(repo), number),
    );
    return toPullRequest(data as unknown as MergeRequest);
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
    const notes = (await this.#call(`list comments of merge request ${number}`, () =>
      this.#notes.all(idOf(repo), number, {
        orderBy: "created_at",
        sort: "desc",
        perPage: PAGE,
        maxPages: COMMENTS_PAGES,
      }),
    )) as unknown as Note[];
    const recent = notes.filter(
      ({ system, created_at }) =>
        !system && (since === undefined || Date.parse(created_at) >= Date.parse(since)),
    );
    const writers = await this.#findWriters(repo, recent);
    const url = `${this.#options.url}/${idOf(repo)}/-/merge_requests/${number}`;
    const comments = recent.reverse().map((note): ForgeComment => {
      const path = note.position?.new_path ?? note.position?.old_path;
      const line = note.position?.new_line ?? note.position?.old_line;
      return {
        id: `comment-${note.id}`,
        kind: path ? "review_comment" : "comment",
        author: note.author.username,
        isBot: note.author.bot === true || /^(project|group)_\d+_bot/.test(note.author.username),
        isTrusted: writers.has(note.author.id),
        body: note.body,
        ...(path ? { path } : {}),
        ...(line ? { line } : {}),
        url: `${url}#note_${note.id}`,
        created_at: note.created_at,
      };
    });
    return compareContent({ comments }, etag);
  }

  async #findWriters(repo: RepositoryName, notes: Note[]): Promise<Set<number>> {
    const writers = new Set<number>();
    for (const userId of new Set(notes.map(({ author }) => author.id))) {
      const member = await this.#call("read a member", () =>
        this.#resources.members.show(idOf(repo), userId, { includeInherited: true }),
      ).catch((error: ForgeError) => {
        if (error.isRetryable) throw error;
        return undefined;
      });
      if (member && member.access_level >= DEVELOPER) writers.add(userId);
    }
    return writers;
  }

  async listFailedChecks(
    repo: RepositoryName,
    commit: string,
    { etag }: { etag?: string },
  ): Promise<Conditional<{ isComplete: boolean; checks: FailedCheck[] }>> {
    const statuses = (await this.#call("list commit statuses", () =>
      this.#resources.commits.allStatuses(idOf(repo), commit),
    )) as unknown as Status[];
    const failed = statuses.filter(({ status, allow_failure }) => status === "failed" && !allow_failure);
    const checks: FailedCheck[] = [];
    for (const { id, name, status, target_url, description } of failed.slice(0, MAX_CHECKS)) {
      const log = checks.length < MAX_LOGS ? await this.#readLog(repo, id) : undefined;
      checks.push({
        id: `status-${id}`,
        name,
        conclusion: status,
        ...(target_url ? { url: target_url } : {}),
        ...(description ? { summary: description } : {}),
        ...(log ? { log_tail: log } : {}),
      });
    }
    const isComplete = statuses.every(({ status }) => !/^(created|pending|running|preparing)$/.test(status));
    return compareContent({ isComplete, checks }, etag);
  }

  /** The id of a status is the id of its job, if a job of GitLab has reported it. */
  #readLog(repo: RepositoryName, jobId: number): Promise<string | undefined> {
    const project = encodeURIComponent(idOf(repo));
    return readLogTail(this.#options.network, {
      url: `${this.#options.url}/api/v4/projects/${project}/jobs/${jobId}/trace`,
      headers: { "private-token": this.#options.token },
    });
  }

  async gitCredential(): Promise<{ credential: string }> {
    return { credential: `oauth2:${this.#options.token}` };
  }

  testAccess(repo: RepositoryName, onStep?: (step: ForgeTestStep) => void): Promise<ForgeTestStep[]> {
    return testAccess({
      client: this,
      repo,
      fetch: this.#fetch,
      gitUrl: this.#gitUrl(repo),
      permissions: { read: "read_repository", write: "write_repository", pullRequest: "api" },
      pushScratchBranch: async ({ branch, base, file, message }) => {
        await this.#call(`commit to the branch ${branch}`, () =>
          this.#resources.commits.create(
            idOf(repo),
            branch,
            message,
            [{ action: "create", filePath: file, content: `${message}\n` }],
            { startBranch: base },
          ),
        );
      },
      deleteBranch: async (branch) => {
        await this.#call(`delete the branch ${branch}`, () =>
          this.#resources.branches.remove(idOf(repo), branch),
        );
      },
      ...(onStep ? { onStep } : {}),
    });
  }

  #gitUrl(repo: RepositoryName): string {
    return `${this.#options.url}/${idOf(repo)}.git`;
  }

  async #call<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof FailedResponse)) throw error;
      throw forgeErrorOf({
        product: "GitLab",
        action,
        needs: `${scope} (scope of the token)`,
        ...error.details,
      });
    }
  }
}

interface RequestOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  prefixUrl?: string;
  searchParams?: string;
}

class FailedResponse extends Error {
  readonly details: { status: number; message: string; headers: Headers };

  constructor(details: FailedResponse["details"]) {
    super(details.message);
    this.details = details;
  }
}

/** Sends a request of the client. Unlike the client's own function, it has limits and no retries. */
async function send(
  fetch: ForgeFetch,
  endpoint: string,
  options: RequestOptions = {},
): Promise<FormattedResponse> {
  const { prefixUrl = "", searchParams, method = "GET", headers = {}, body } = options;
  const url = new URL(endpoint, prefixUrl.endsWith("/") ? prefixUrl : `${prefixUrl}/`);
  url.search = searchParams ?? "";
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = response.status === 204 ? "" : await response.text();
  const isJson = response.headers.get("content-type")?.includes("json");
  const parsed = isJson && text !== "" ? JSON.parse(text) : text;
  if (!response.ok) {
    const reason = parsed?.message ?? parsed?.error_description ?? parsed?.error ?? "";
    const message = typeof reason === "string" ? reason : JSON.stringify(reason);
    throw new FailedResponse({ status: response.status, message, headers: response.headers });
  }
  return { body: parsed, headers: Object.fromEntries(response.headers), status: response.status };
}

function idOf({ owner, name }: RepositoryName): string {
  return `${owner}/${name}`;
}

function canPush({ permissions }: Project): boolean {
  const levels = [permissions?.project_access?.access_level, permissions?.group_access?.access_level];
  return levels.some((level) => (level ?? 0) >= DEVELOPER);
}

function toPullRequest(data: MergeRequest): ForgePullRequest {
  const isDraft = data.draft ?? draftPrefix.test(data.title);
  const open = isDraft ? "draft" : "open";
  return {
    number: data.iid,
    url: data.web_url,
    state: data.state === "merged" ? "merged" : data.state === "opened" ? open : "closed",
    title: isDraft ? data.title.replace(draftPrefix, "") : data.title,
    branch: data.source_branch,
    base: data.target_branch,
    head_commit: data.sha,
    ...(data.has_conflicts === undefined ? {} : { mergeable: !data.has_conflicts }),
    updated_at: data.updated_at,
  };
}
