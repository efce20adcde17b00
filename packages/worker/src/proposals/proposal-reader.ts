import { Failure } from "@outrider/agent/failure";
import type { Signals, WorkerInfo } from "@outrider/contract/worker";
import type { AssignedProposal, ProposalFinishRequest } from "@outrider/contract/worker/proposal";
import { addForgeCredentials } from "../builds/forge-credentials.ts";
import { repositoryOf } from "../builds/repository-contents.ts";
import type { Log } from "../log.ts";
import type { Repositories } from "../repositories/repository.ts";
import { RepositoryError } from "../repositories/repository-error.ts";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import { proposeForRepository } from "./read-commit.ts";

const READ_MS = 2 * 60_000;
const FINISH_MS = 10_000;
const MAX_CONCURRENT = 2;

type Outcome = ProposalFinishRequest["outcome"];

interface ProposalReaderOptions {
  server: ServerClient;
  worker: WorkerInfo;
  repositories: Repositories;
  /** Aborts when the worker must not start new work. */
  stopping: AbortSignal;
  maxMirrorBytes: number;
  log: Log;
}

/**
 * Takes queued proposals from the server's signals and reads their repositories. This needs no slot and no sandbox, so a
 * user who creates an environment does not wait for runs.
 */
export class ProposalReader {
  readonly #options: ProposalReaderOptions;
  readonly #active = new Map<string, Promise<void>>();

  constructor(options: ProposalReaderOptions) {
    this.#options = options;
  }

  handleSignals({ proposals = [] }: Signals): void {
    for (const proposalId of proposals) {
      if (this.#options.stopping.aborted || this.#active.size >= MAX_CONCURRENT) return;
      if (this.#active.has(proposalId)) continue;
      const work = this.#handle(proposalId)
        .catch((error) => {
          if (!(error instanceof LeaseLostError))
            this.#options.log.warn({ error, proposal_id: proposalId }, "failed to handle proposal");
        })
        .finally(() => this.#active.delete(proposalId));
      this.#active.set(proposalId, work);
    }
  }

  /** Resolves when nothing is being read. A worker that stops returns its proposals. */
  async finished(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  async #handle(proposalId: string): Promise<void> {
    const { server, worker, repositories, stopping, maxMirrorBytes } = this.#options;
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(READ_MS)]);
    const { worker_id } = worker;
    const assigned = await server.takeProposal(proposalId, worker_id, signal);
    const outcome = await this.#read(proposalId, assigned, signal);
    await server.finishProposal(proposalId, { worker_id, outcome }, AbortSignal.timeout(FINISH_MS));
    void repositories.prune({ keep: [], maxBytes: maxMirrorBytes }).catch(() => {});
  }

  async #read(
    proposalId: string,
    { repository, credentials }: AssignedProposal,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { repositories, server, worker, stopping, log } = this.#options;
    try {
      const holder = { type: "proposal", proposal_id: proposalId } as const;
      const environment = { repos: [repository], credentials };
      await addForgeCredentials(environment, { server, workerId: worker.worker_id, holder, signal });
      const result = await proposeForRepository(repositories, repositoryOf(repository, credentials), signal);
      return { type: "ready", result };
    } catch (error) {
      if (stopping.aborted) return { type: "abandoned" };
      if (error instanceof Failure) return { type: "failed", error_code: error.code, message: error.message };
      if (error instanceof RepositoryError) {
        const { code, message, remedy } = error;
        return { type: "failed", error_code: code, message: `${message} ${remedy}` };
      }
      if (signal.aborted) {
        const message = `Reading ${repository.url} took longer than ${READ_MS / 1_000} seconds.`;
        return { type: "failed", error_code: "repository_unreachable", message };
      }
      log.error({ error }, "failed to read a repository for a proposal");
      const message = "The worker failed to read the repository. Its log says why.";
      return { type: "failed", error_code: "internal_error", message };
    }
  }
}
