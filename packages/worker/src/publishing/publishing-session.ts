import { GitEndpoint } from "./git-endpoint.ts";
import { PublishChanges, type PublishChangesOptions } from "./publish-changes.ts";
import { listGitPushes } from "./push-additions.ts";

/** What an execution has for publishing: the git endpoint of its sandbox, and what the endpoint and the agent call. */
export class PublishingSession {
  readonly changes: PublishChanges;
  readonly #endpoint: GitEndpoint;

  private constructor(options: PublishChangesOptions) {
    const { assignment, workspace, redactor, signal } = options;
    const changes = new PublishChanges(options);
    this.changes = changes;
    const endpoint = new GitEndpoint({
      listTargets: () => changes.listTargets(),
      publish: (push) => changes.byPush(push),
      redact: (text) => redactor.redact(text),
      signal,
    });
    this.#endpoint = endpoint;
    workspace.pushAdditions = {
      pushes: listGitPushes(assignment),
      onConnection: (connection) => endpoint.accept(connection),
    };
  }

  /** Returns undefined if no repository of the run can be published. Call it before the sandbox opens. */
  static open(options: PublishChangesOptions): PublishingSession | undefined {
    return options.assignment.publishing ? new PublishingSession(options) : undefined;
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }
}
