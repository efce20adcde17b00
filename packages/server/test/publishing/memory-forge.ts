import { randomUUID } from "node:crypto";
import { notFound } from "../../src/engine/api-error.ts";
import {
  type FailedCheck,
  type ForgeClient,
  type ForgeComment,
  ForgeError,
  type ForgePullRequest,
  type NewPullRequest,
} from "../../src/forges/forge-client.ts";

export interface MemoryPullRequest extends ForgePullRequest {
  body: string;
  labels: string[];
  version: number;
}

type Call = keyof ForgeClient;

/** A forge with one repository in memory. Like real forges, it accepts one open pull request per branch. */
export class MemoryForge {
  readonly forgeId = randomUUID();
  readonly pulls: MemoryPullRequest[] = [];
  comments: ForgeComment[] = [];
  checks: { isComplete: boolean; checks: FailedCheck[] } = { isComplete: true, checks: [] };
  readonly calls: Call[] = [];
  /** Runs before each call, and may throw. */
  before: (call: Call) => unknown = () => {};
  /** Runs after a pull request was created, before the client learns of it. */
  afterCreate: () => unknown = () => {};
  isConnected = true;
  /** Whether only open pull requests are found by their branch. */
  hidesClosed = false;
  /** What branches point to. */
  readonly branches = new Map<string, string>();

  push(branch: string, commit: string) {
    this.branches.set(branch, commit);
    const pull = this.#open(branch);
    if (pull) this.change(pull.number, { head_commit: commit });
  }

  change(number: number, change: Partial<MemoryPullRequest>): MemoryPullRequest {
    const pull = this.pulls.find((each) => each.number === number) as MemoryPullRequest;
    return Object.assign(pull, change, { version: pull.version + 1 });
  }

  comment(comment: Partial<ForgeComment>): void {
    const id = String(this.comments.length + 1);
    this.comments.push({
      ...{ id, kind: "comment", author: "alice", isBot: false, isTrusted: true, body: "Rename it." },
      ...{ url: `https://git.test/acme/api/pulls/1#${id}`, created_at: new Date().toISOString() },
      ...comment,
    });
  }

  /** What the engine needs of connected forges. */
  forges() {
    return {
      clientFor: async () => {
        if (!this.isConnected) throw notFound("forge");
        return this.client();
      },
      findByUrl: async () => ({ forgeId: this.forgeId, repository: { owner: "acme", name: "api" } }),
    };
  }

  #open(branch: string): MemoryPullRequest | undefined {
    return this.pulls.find((pull) => pull.branch === branch && /open|draft/.test(pull.state));
  }

  client(): ForgeClient {
    const enter = async (call: Call) => {
      this.calls.push(call);
      await new Promise(setImmediate);
      await this.before(call);
    };
    const unused = () => Promise.reject(new Error("not used in these tests"));
    const tagged = <T extends object>(etag: string, given: string | undefined, value: T) =>
      given === etag ? { isUnchanged: true as const } : { isUnchanged: false as const, etag, ...value };
    return {
      identify: unused,
      listRepositories: unused,
      gitCredential: unused,
      testAccess: unused,
      getRepository: async () => {
        await enter("getRepository");
        return { default_branch: "main", can_push: true, archived: false, clone_url: "" };
      },
      findPullRequest: async (_, { branch }) => {
        await enter("findPullRequest");
        const closed = this.hidesClosed ? [] : this.pulls.filter((pull) => pull.branch === branch);
        return this.#open(branch) ?? closed.at(-1);
      },
      createPullRequest: async (_, { draft, reviewers, ...rest }: NewPullRequest) => {
        await enter("createPullRequest");
        if (this.#open(rest.branch)) throw new ForgeError("conflict", "A pull request already exists.");
        const number = this.pulls.length + 1;
        const created: MemoryPullRequest = {
          ...{ number, url: `https://git.test/acme/api/pulls/${number}`, state: draft ? "draft" : "open" },
          ...{ head_commit: this.branches.get(rest.branch) ?? "", updated_at: new Date().toISOString() },
          ...{ version: 0, ...rest },
        };
        this.pulls.push(created);
        await this.afterCreate();
        return { ...created, warnings: reviewers.map((name) => `Reviewer ${name} was not found.`) };
      },
      updatePullRequest: async (_, number, { title, body }) => {
        await enter("updatePullRequest");
        return this.change(number, { ...(title ? { title } : {}), ...(body ? { body } : {}) });
      },
      readPullRequest: async (_, number, { etag }) => {
        await enter("readPullRequest");
        const pullRequest = this.pulls.find((each) => each.number === number) as MemoryPullRequest;
        return tagged(`pull ${pullRequest.version}`, etag, { pullRequest: { ...pullRequest } });
      },
      listComments: async (_, __, { etag }) => {
        await enter("listComments");
        return tagged(`comments ${this.comments.length}`, etag, { comments: [...this.comments] });
      },
      listFailedChecks: async (_, commit, { etag }) => {
        await enter("listFailedChecks");
        const { isComplete, checks } = this.checks;
        return tagged(`checks ${commit} ${checks.length}`, etag, { isComplete, checks });
      },
    };
  }
}
