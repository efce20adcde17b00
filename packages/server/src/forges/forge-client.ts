/**
 * What the server asks of a forge: a service that hosts git repositories, such as GitHub, GitLab or Gitea. Each client
 * is bound to one forge and one credential. Calls that fail throw a ForgeError with a sentence for people.
 */
import type { ForgeRepository, ForgeTestStep } from "@outrider/contract/forge";

/** Identifies a repository on its forge. On GitLab, `owner` may contain slashes. */
export interface RepositoryName {
  owner: string;
  name: string;
}

export interface ForgePullRequest {
  number: number;
  url: string;
  state: "open" | "draft" | "merged" | "closed";
  title: string;
  branch: string;
  base: string;
  head_commit: string;
  /** Absent while the forge has not determined it yet. */
  mergeable?: boolean;
  updated_at: string;
}

export interface ForgeComment {
  id: string;
  kind: "comment" | "review" | "review_comment";
  author: string;
  isBot: boolean;
  /** Whether the author may write to the repository. */
  isTrusted: boolean;
  body: string;
  path?: string;
  line?: number;
  url: string;
  created_at: string;
}

export interface FailedCheck {
  id: string;
  name: string;
  conclusion: string;
  url?: string;
  summary?: string;
  log_tail?: string;
}

export interface NewPullRequest {
  branch: string;
  base: string;
  title: string;
  body: string;
  draft: boolean;
  labels: string[];
  reviewers: string[];
}

/** A result that is absent if the forge reports that nothing has changed since the given ETag. */
export type Conditional<T> = { isUnchanged: true } | ({ isUnchanged: false; etag?: string } & T);

export interface ForgeClient {
  identify(): Promise<{ login: string; kind: "user" | "app" }>;
  listRepositories(options: {
    query?: string;
    page?: number;
  }): Promise<{ repositories: ForgeRepository[]; has_more: boolean }>;
  getRepository(
    repo: RepositoryName,
  ): Promise<{ default_branch: string; can_push: boolean; archived: boolean; clone_url: string }>;
  /** Returns the open pull request of a branch of this repository, or else the newest. `base` speeds up the search. */
  findPullRequest(
    repo: RepositoryName,
    options: { branch: string; base?: string },
  ): Promise<ForgePullRequest | undefined>;
  /** Labels and reviewers that the forge rejects become warnings. */
  createPullRequest(
    repo: RepositoryName,
    options: NewPullRequest,
  ): Promise<ForgePullRequest & { warnings: string[] }>;
  updatePullRequest(
    repo: RepositoryName,
    number: number,
    options: { title?: string; body?: string; state?: "open" | "closed" },
  ): Promise<ForgePullRequest>;
  readPullRequest(
    repo: RepositoryName,
    number: number,
    options: { etag?: string },
  ): Promise<Conditional<{ pullRequest: ForgePullRequest }>>;
  listComments(
    repo: RepositoryName,
    number: number,
    options: { since?: string; etag?: string },
  ): Promise<Conditional<{ comments: ForgeComment[] }>>;
  /** `isComplete` is false while checks of the commit are queued or running. */
  listFailedChecks(
    repo: RepositoryName,
    commit: string,
    options: { etag?: string },
  ): Promise<Conditional<{ isComplete: boolean; checks: FailedCheck[] }>>;
  /** Returns a credential for git over HTTPS, as `user:token`. */
  gitCredential(
    repo: RepositoryName,
    options: { write: boolean },
  ): Promise<{ credential: string; expires_at?: string }>;
  /** Tries everything that publishing needs, on a scratch branch that it deletes again. */
  testAccess(repo: RepositoryName, onStep?: (step: ForgeTestStep) => void): Promise<ForgeTestStep[]>;
}

export type ForgeErrorCode =
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "rate_limited"
  | "unreachable"
  | "conflict"
  | "invalid"
  | "server_error";

const retryableCodes: readonly ForgeErrorCode[] = ["rate_limited", "unreachable", "server_error"];

/** The message is a sentence for people. It contains no credential. */
export class ForgeError extends Error {
  override name = "ForgeError";
  readonly code: ForgeErrorCode;
  readonly isRetryable: boolean;
  /** How long the forge asks to wait. */
  readonly retryAfterMs?: number;

  constructor(
    code: ForgeErrorCode,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.isRetryable = retryableCodes.includes(code);
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}
