/**
 * Publishes the changes of a run: at the end of a turn, when the agent asks for it with the tool `publish_changes`, and
 * when something in the sandbox pushes to the git endpoint. All three take the same path: the commits are taken out of
 * the sandbox and checked (stage-commits.ts), and reported to the server, which decides by the environment's policy.
 *
 * Invariants:
 * - Nothing here has the right to push. The server gives a publication to a worker that pushes it (publication-pusher.ts).
 * - A problem with publishing never fails a turn. It is a notice, or the result of the agent's request.
 */
import { createHash, randomUUID } from "node:crypto";
import { posix } from "node:path";
import type { CheckedOutRepository } from "@outrider/contract/run";
import type { Assignment, TurnOutcome } from "@outrider/contract/worker";
import type {
  AssignedPublishing,
  PublishRequest,
  StagedCommits,
} from "@outrider/contract/worker/publication";
import { repositoryOf } from "../builds/repository-contents.ts";
import type { Notice } from "../egress/egress-session.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { Repositories, Repository } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";
import { toStorableText } from "../run/storable-text.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import { gitAuthorOf } from "../workspace/open-sandbox.ts";
import type { RunWorkspace } from "../workspace/workspace.ts";
import type { PublicationResult } from "./describe-publication.ts";
import type { PushTarget } from "./git-endpoint.ts";
import { PublishingError } from "./publishing-error.ts";
import type { ReceivedPush } from "./receive-pack/receive-push.ts";
import { requestPublication } from "./request-publication.ts";
import { addSandboxCommit } from "./sandbox-commit.ts";
import { stageCommits, stageFromOutbox } from "./stage-commits.ts";
import { updateBase } from "./update-base.ts";

/** The code of notices about changes that cannot be published. */
const PUBLISHING = "publishing";
/** How long the end of a turn waits for each repository. */
const STAGE_MS = 2 * 60_000;
const REPORT_MS = 30_000;
const MAX_PACK_BYTES = 256 * 2 ** 20;
const MAX_MESSAGE_CHARACTERS = 200;
const MAX_TITLE_CHARACTERS = 256;
const MAX_BODY_CHARACTERS = 32_768;

type Policy = AssignedPublishing["repositories"][number];

export interface PublishChangesOptions {
  assignment: Assignment;
  workspace: RunWorkspace;
  server: ServerClient;
  repositories: Repositories;
  redactor: Redactor;
  /** The folder for files that are waiting to be uploaded. */
  folder: string;
  emitNotice(notice: Notice): void;
  signal: AbortSignal;
}

/** A repository that the run can publish. */
interface Publishable {
  policy: Policy;
  repository: CheckedOutRepository;
  source: Repository;
}

export interface AgentRequest {
  /** The path of the repository, relative to /workspace. Default: the only one with changes. */
  path?: string | undefined;
  title: string;
  body: string;
}

export class PublishChanges {
  readonly #options: PublishChangesOptions;
  /** The commits that were pushed in this execution, by the path of their repository. */
  readonly #published = new Map<string, string>();

  constructor(options: PublishChangesOptions) {
    this.#options = options;
  }

  /** The repositories for the git endpoint. */
  listTargets(): PushTarget[] {
    return this.#list().map(({ policy, repository }) => ({
      path: policy.path,
      branch: policy.branch,
      tip: policy.published?.tip,
      known: repository.commit,
    }));
  }

  /**
   * Stages the changes at the end of a turn. Returns the outcome, which names the publications that a user must approve.
   * Rejects only if the lease is lost.
   */
  async atTurnEnd(outcome: TurnOutcome): Promise<TurnOutcome> {
    const { assignment, server, signal } = this.#options;
    const { execution_id, run_id, turn } = assignment;
    const commits = await this.#stageAll();
    // A turn that ends with a question has not succeeded yet.
    const result = outcome.type === "blocked" ? undefined : outcome.type;
    const request: PublishRequest = {
      ...{ run_id, commits, trigger: "turn_end", ...(result ? { outcome: result } : {}) },
      ...(outcome.type === "succeeded" ? this.#redact({ body: outcome.text }) : {}),
      // The next attempt at a turn repeats the request if this one ends before the server knows the outcome.
      request_id: stableId([run_id, turn, result, ...commits.map(({ path, tip }) => [path, tip])]),
    };
    try {
      const timeout = AbortSignal.any([signal, AbortSignal.timeout(REPORT_MS)]);
      const { publications } = await server.publish(execution_id, request, timeout);
      const awaiting = publications.filter(({ state }) => state === "AWAITING_APPROVAL");
      if (outcome.type !== "succeeded" || awaiting.length === 0) return outcome;
      return { ...outcome, awaiting_approval: awaiting.map(({ publication_id }) => publication_id) };
    } catch (error) {
      this.#notice(error, "The run's changes could not be reported for publishing.");
      return outcome;
    }
  }

  /** Publishes what the agent asks for. The result is for the agent. */
  async byAgent({ path, title, body }: AgentRequest, signal: AbortSignal): Promise<PublicationResult> {
    const all = this.#list();
    const chosen = path === undefined ? all : all.filter(({ policy }) => this.#isMeant(path, policy.path));
    const paths = all.map(({ policy }) => policy.path).join(", ");
    if (chosen.length === 0)
      return refused(
        `This run cannot publish the repository ${path}. Set \`repository\` to one of: ${paths}.`,
      );
    const message = title.slice(0, MAX_MESSAGE_CHARACTERS);
    const staged: StagedCommits[] = [];
    for (const each of chosen) {
      try {
        const commits = await this.#stage(each, { signal, message });
        if (commits) staged.push(commits);
      } catch (error) {
        signal.throwIfAborted();
        return refused(describeError(error));
      }
    }
    if (staged.length === 0) return nothingNew(chosen[0] as Publishable);
    if (staged.length > 1)
      return refused(
        `Several repositories have changes. Publish them one by one: set \`repository\` to one of ${paths}.`,
      );
    return await this.#request(staged, { trigger: "agent", title, body, signal });
  }

  /** Accepts the path of a repository as agents write it: relative to the workspace or to the working folder. */
  #isMeant(path: string, repository: string): boolean {
    const { workspace } = sandboxPaths;
    const folder = posix.join(workspace, repository);
    return [workspace, this.#options.workspace.workingFolder].some(
      (start) => posix.resolve(start, path) === folder,
    );
  }

  /** Publishes what something in the sandbox pushed. */
  async byPush({ path, tip, pack, onProgress, signal }: Push): Promise<PublicationResult> {
    const { repositories, workspace } = this.#options;
    const target = this.#list().find(({ policy }) => policy.path === path) as Publishable;
    const { repository, source, policy } = target;
    try {
      await using outbox = await repositories.openOutbox(source, { commit: repository.commit, signal });
      if (policy.published) {
        const sandbox = await workspace.open();
        const { commit: known } = repository;
        const commit = { sandbox, path, commit: policy.published.tip, known };
        await addSandboxCommit(outbox, { ...commit, maxBytes: MAX_PACK_BYTES, signal }).catch(() => {});
      }
      await outbox.ingest(pack, { maxBytes: MAX_PACK_BYTES });
      onProgress("Checking the commits…");
      const staged = await stageFromOutbox(outbox, { ...this.#checkOptions(target), signal, tip });
      if (!staged) return nothingNew(target);
      onProgress(
        `Pushing ${staged.commits === 1 ? "1 commit" : `${staged.commits} commits`} to ${policy.branch}…`,
      );
      return await this.#request([staged], { trigger: "push", signal });
    } catch (error) {
      signal.throwIfAborted();
      return { reason: "not accepted", messages: [describeError(error)] };
    }
  }

  async #request(
    commits: StagedCommits[],
    { signal, ...request }: Pick<PublishRequest, "trigger" | "title" | "body"> & { signal: AbortSignal },
  ): Promise<PublicationResult> {
    const { server, assignment } = this.#options;
    const { execution_id: executionId, run_id } = assignment;
    // A call that is repeated after a failure is a new request.
    const result = await requestPublication(
      { ...request, ...this.#redact(request), run_id, request_id: randomUUID(), commits },
      { server, executionId, signal: AbortSignal.any([signal, this.#options.signal]) },
    );
    if (result.reason === undefined) for (const { path, tip } of commits) this.#published.set(path, tip);
    if (result.reason !== "not published") return result;
    const notes = await this.#updateBases(
      commits.map(({ path }) => path),
      signal,
    );
    return { ...result, messages: [...result.messages, ...notes] };
  }

  /**
   * Brings newer commits of the base branches into the sandbox, so that the agent can resolve conflicts with them. It is
   * called when a run continues and when a publication has failed.
   */
  async updateBases(signal: AbortSignal): Promise<void> {
    await this.#updateBases(
      this.#list().map(({ policy }) => policy.path),
      signal,
    );
  }

  async #updateBases(paths: string[], signal: AbortSignal): Promise<string[]> {
    const { workspace, repositories } = this.#options;
    const notes: string[] = [];
    for (const { policy, repository, source } of this.#list()) {
      const { path, on_base_moved } = policy;
      const base = policy.base ?? branchOf(repository);
      if (on_base_moved === "none" || base === undefined || !paths.includes(path)) continue;
      try {
        const sandbox = await workspace.openForChanges();
        const commit = await updateBase({ sandbox, path, source, base, repositories, signal });
        if (commit === repository.commit) continue;
        notes.push(`origin/${base} in ${path} is up to date now, at ${commit.slice(0, 12)}.`);
      } catch (error) {
        if (error instanceof LeaseLostError) throw error;
        // The agent learns about conflicts in any case. It only lacks the newer commits.
        this.#options.signal.throwIfAborted();
      }
    }
    return notes;
  }

  /** Redacts what becomes the title and text of a pull request, and cuts it to the length that the server accepts. */
  #redact({ title, body }: Pick<PublishRequest, "title" | "body">) {
    const { redactor } = this.#options;
    const clean = (text: string, max: number) => toStorableText(redactor.redact(text).slice(0, max));
    return {
      ...(title === undefined ? {} : { title: clean(title, MAX_TITLE_CHARACTERS) }),
      ...(body === undefined ? {} : { body: clean(body, MAX_BODY_CHARACTERS) }),
    };
  }

  async #stageAll(): Promise<StagedCommits[]> {
    // Without a change to files, what earlier turns staged is still complete.
    if (!this.#options.workspace.mayHaveChanges) return [];
    const all: StagedCommits[] = [];
    for (const each of this.#list()) {
      try {
        const staged = await this.#stage(each, { signal: AbortSignal.timeout(STAGE_MS) });
        if (staged) all.push(staged);
      } catch (error) {
        this.#notice(error, `The changes in ${each.policy.path} cannot be published.`);
      }
    }
    return all;
  }

  async #stage(
    target: Publishable,
    options: { signal: AbortSignal; message?: string },
  ): Promise<StagedCommits | undefined> {
    const { workspace, assignment, repositories } = this.#options;
    const { signal, message = titleOf(assignment) } = options;
    return await stageCommits({
      ...this.#checkOptions(target),
      ...{ repositories, source: target.source, message },
      sandbox: await workspace.openForChanges(),
      author: gitAuthorOf(assignment),
      signal: AbortSignal.any([signal, this.#options.signal]),
    });
  }

  #checkOptions({ repository, policy }: Publishable) {
    const { redactor, server, folder, assignment } = this.#options;
    const { secrets, environment } = assignment;
    const named = { ...secrets, ...environment?.build_secrets };
    const credentials = Object.values(environment?.credentials ?? {});
    return {
      ...{ repository, policy, redactor, server, folder },
      secrets: [
        ...Object.entries(named).map(([name, value]) => ({ name, value })),
        ...credentials.map((value) => ({ name: "a credential of the environment", value })),
      ],
    };
  }

  #list(): Publishable[] {
    const { assignment, workspace } = this.#options;
    const { publishing, environment } = assignment;
    return (publishing?.repositories ?? []).flatMap((assigned) => {
      const { path } = assigned;
      const repository = workspace.prepared?.repositories.find((each) => each.path === path);
      const repo = environment?.repos.find((each) => each.path === path);
      if (!repository || !repo || !environment) return [];
      const tip = this.#published.get(path);
      const policy = tip ? { ...assigned, published: { tip, commit: tip } } : assigned;
      return [{ policy, repository, source: repositoryOf(repo, environment.credentials) }];
    });
  }

  /** Emits a notice about an error. Rethrows it if the execution must stop. */
  #notice(error: unknown, what: string) {
    if (error instanceof LeaseLostError) throw error;
    this.#options.signal.throwIfAborted();
    this.#options.emitNotice({ code: PUBLISHING, message: `${what} ${describeError(error)}` });
  }
}

type Push = ReceivedPush & { path: string; signal: AbortSignal };

const refused = (message: string): PublicationResult => ({ reason: "not published", messages: [message] });

function nothingNew({ policy }: Publishable): PublicationResult {
  const message = policy.published
    ? `There is nothing new to publish: all changes are on the branch ${policy.branch}.`
    : "There is nothing to publish: no file differs from the commit that the run started from.";
  return { reason: "nothing new", messages: [message] };
}

/** Errors other than these two may quote anything, so that the agent learns only that there was one. */
function describeError(error: unknown): string {
  if (error instanceof PublishingError) return error.message;
  if (error instanceof RepositoryError) return `${error.message} ${error.remedy}`;
  if (error instanceof DOMException && error.name === "TimeoutError") return "It took too long.";
  return "The worker failed to check the commits. Try again later.";
}

function titleOf({ history: [created] }: Assignment): string {
  return created?.type === "run.created" ? created.data.title.slice(0, MAX_MESSAGE_CHARACTERS) : "Changes";
}

/** Returns the branch that was checked out. */
function branchOf({ ref }: CheckedOutRepository): string | undefined {
  return ref?.startsWith("refs/") ? /^refs\/heads\/(.+)$/.exec(ref)?.[1] : ref;
}

/** Returns the same UUID for the same values. */
function stableId(values: unknown[]): string {
  const hex = createHash("sha256").update(JSON.stringify(values)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
