import type { WorkerInfo } from "@outrider/contract/worker";
import { findBuildHolder } from "../../store/builds.ts";
import type { Sql } from "../../store/connection/db.ts";
import { bindWorker, findWorkerKey } from "../../store/dispatch/workers.ts";
import { findExecutionHolder } from "../../store/runs/executions.ts";
import { findShellHolder } from "../../store/shells.ts";
import { ApiError, notFound } from "../api-error.ts";

/*
 * A worker belongs to the key that registered it, and so do the executions and builds that the worker claims. Another
 * worker key cannot act for them, even if it knows their IDs.
 *
 * Which key a worker belongs to, and which worker and run an execution belongs to, never changes. Each server therefore
 * remembers these answers, and only the first request for a worker or an execution queries the database.
 *
 * A server of the previous version registers workers without a key. Such a worker belongs to the first key that uses
 * it.
 */

/** More than the executions that a server's workers have at the same time. */
const MAX_REMEMBERED = 20_000;

interface Remembered {
  keyId: string;
  runId: string;
}

export class WorkerAccess {
  readonly #keyOfWorker = new Map<string, string>();
  readonly #executions = new Map<string, Remembered>();

  /** Registers a worker with the key. Throws if it belongs to another key. */
  async register(sql: Sql, keyId: string, worker: WorkerInfo): Promise<void> {
    const known =
      (await this.#findWorkerKey(sql, worker.worker_id)) ?? (await bindWorker(sql, worker, keyId));
    if (known !== keyId) throw otherKey();
  }

  /** Throws if the worker belongs to another key. A worker that has not registered yet belongs to no key. */
  async requireWorker(sql: Sql, keyId: string, workerId: string): Promise<void> {
    const known = await this.#findWorkerKey(sql, workerId);
    if (known !== undefined && known !== keyId) throw otherKey();
  }

  /** Remembers only what was read, because a registration in this transaction may still be rolled back. */
  async #findWorkerKey(sql: Sql, workerId: string): Promise<string | undefined> {
    const known = this.#keyOfWorker.get(workerId) ?? (await findWorkerKey(sql, workerId));
    if (known !== undefined) remember(this.#keyOfWorker, workerId, known);
    return known;
  }

  /** Throws if the execution does not exist, belongs to another key, or is not an execution of this run. */
  async requireExecution(
    sql: Sql,
    keyId: string,
    { executionId, runId }: { executionId: string; runId?: string | undefined },
  ): Promise<void> {
    const known = this.#executions.get(executionId) ?? (await this.#findExecution(sql, executionId, keyId));
    if (known?.keyId !== keyId || (runId !== undefined && known.runId !== runId)) {
      throw notFound("execution");
    }
  }

  /** Remembers executions that a worker of this key has just claimed. */
  rememberClaimed(keyId: string, executions: { execution_id: string; run_id: string }[]) {
    for (const { execution_id, run_id } of executions)
      remember(this.#executions, execution_id, { keyId, runId: run_id });
  }

  async #findExecution(sql: Sql, executionId: string, keyId: string): Promise<Remembered | undefined> {
    const found = await findExecutionHolder(sql, executionId);
    if (!found) return undefined;
    if (found.key_id === null) return { keyId, runId: found.run_id };
    const execution = { keyId: found.key_id, runId: found.run_id };
    remember(this.#executions, executionId, execution);
    return execution;
  }

  /** Throws if a worker of another key holds the build. The build's token identifies the lease itself. */
  async requireBuild(sql: Sql, keyId: string, buildId: string): Promise<void> {
    const found = await findBuildHolder(sql, buildId);
    if (!found || (found.key_id !== null && found.key_id !== keyId)) throw notFound("build");
  }

  /** The same for a shell. */
  async requireShell(sql: Sql, keyId: string, shellId: string): Promise<void> {
    const found = await findShellHolder(sql, shellId);
    if (!found || (found.key_id !== null && found.key_id !== keyId)) throw notFound("shell");
  }
}

/** Adds an entry, and removes the oldest one if there are too many. */
function remember<T>(entries: Map<string, T>, id: string, value: T) {
  entries.set(id, value);
  if (entries.size <= MAX_REMEMBERED) return;
  const [oldest] = entries.keys();
  entries.delete(oldest as string);
}

function otherKey(): ApiError {
  return new ApiError("not_authorized", "This worker ID belongs to another worker key. Restart the worker.");
}
