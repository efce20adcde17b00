import type { ErrorCode } from "@outrider/contract/errors/error";
import type { Signals, WorkerInfo } from "@outrider/contract/worker";
import type { AssignedPublication, PublicationFinishRequest } from "@outrider/contract/worker/publication";
import { repositoryOf } from "../builds/repository-contents.ts";
import type { Log } from "../log.ts";
import { Redactor } from "../redaction/redact.ts";
import { secretsOfCredential } from "../repositories/access.ts";
import type { Repositories } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import { publish } from "./publish.ts";
import { PublishingError, type PublishingErrorCode } from "./publishing-error.ts";

const FINISH_MS = 10_000;
const MAX_CONCURRENT = 2;
/** The rest of the lease is for reporting the result. */
const LEASE_MARGIN_MS = 20_000;
const MAX_MESSAGE_CHARACTERS = 10_000;

type Outcome = PublicationFinishRequest["outcome"];

interface PublicationPusherOptions {
  server: ServerClient;
  worker: WorkerInfo;
  repositories: Repositories;
  /** Aborts when the worker must not start new work. */
  stopping: AbortSignal;
  log: Log;
}

/**
 * Takes queued publications from the server's signals and pushes them. This needs no slot and no sandbox: the commits were
 * taken out of the sandbox before. A worker that dies has either pushed or not; the next one repeats the push, which has
 * no effect if the branch already has the commit.
 */
export class PublicationPusher {
  readonly #options: PublicationPusherOptions;
  readonly #active = new Map<string, Promise<void>>();

  constructor(options: PublicationPusherOptions) {
    this.#options = options;
  }

  handleSignals({ publications = [] }: Signals): void {
    for (const publicationId of publications) {
      if (this.#options.stopping.aborted || this.#active.size >= MAX_CONCURRENT) return;
      if (this.#active.has(publicationId)) continue;
      const work = this.#handle(publicationId)
        .catch((error) => {
          if (!(error instanceof LeaseLostError))
            this.#options.log.warn({ error, publication_id: publicationId }, "failed to handle publication");
        })
        .finally(() => this.#active.delete(publicationId));
      this.#active.set(publicationId, work);
    }
  }

  /** Resolves when nothing is being pushed. A worker that stops returns its publications. */
  async finished(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  async #handle(publicationId: string): Promise<void> {
    const { server, worker, stopping } = this.#options;
    const { worker_id } = worker;
    const assigned = await server.takePublication(publicationId, worker_id, stopping);
    const deadline = AbortSignal.timeout(Math.max(1_000, assigned.lease_ms - LEASE_MARGIN_MS));
    const outcome = await this.#push(assigned, AbortSignal.any([stopping, deadline]));
    const { token } = assigned;
    const body = { worker_id, token, outcome };
    await server.finishPublication(publicationId, body, AbortSignal.timeout(FINISH_MS));
  }

  async #push(assigned: AssignedPublication, signal: AbortSignal): Promise<Outcome> {
    const { repositories, server, stopping, log } = this.#options;
    const { repository, credentials, signing_key, publication_id } = assigned;
    const redactor = new Redactor([
      ...Object.values(credentials).flatMap(secretsOfCredential),
      ...(signing_key ? [signing_key] : []),
    ]);
    const fail = (error_code: ErrorCode, message: string, is_retryable: boolean): Outcome => ({
      ...{ type: "failed", error_code, is_retryable },
      message: redactor.redact(message).slice(0, MAX_MESSAGE_CHARACTERS),
    });
    try {
      const source = repositoryOf(repository, credentials);
      const result = await publish({ repositories, server, source, publication: assigned, signal });
      return { type: "pushed", ...result };
    } catch (error) {
      if (stopping.aborted) return { type: "abandoned" };
      if (error instanceof PublishingError)
        return fail(errorCodes[error.code], error.message, error.isRetryable);
      if (error instanceof RepositoryError) {
        const { code, message, remedy } = error;
        return fail(code, `${message} ${remedy}`, code === "repository_unreachable");
      }
      if (signal.aborted) {
        const message = `Pushing to ${repository.url} took too long. Outrider tries again.`;
        return fail("repository_unreachable", message, true);
      }
      log.error(
        { reason: redactor.redact(String((error as Error).message)), publication_id },
        "failed to push a publication",
      );
      return fail("internal_error", "The worker failed to push the branch. Its log says why.", true);
    }
  }
}

const errorCodes: Record<PublishingErrorCode, ErrorCode> = {
  invalid_commits: "invalid_request",
  too_large: "payload_too_large",
  secret_found: "invalid_request",
  unrelated_history: "invalid_request",
  lfs_files: "invalid_request",
  unfinished_merge: "conflict",
  no_repository: "invalid_request",
  staging_failed: "invalid_request",
  branch_moved: "conflict",
  base_conflict: "conflict",
  protected_branch: "not_authorized",
  rejected: "not_authorized",
  permission_denied: "not_authorized",
  authentication_required: "external_authentication_required",
  unreachable: "repository_unreachable",
  signing_key_invalid: "external_authentication_required",
};
