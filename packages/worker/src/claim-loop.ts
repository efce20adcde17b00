import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Assignment, ClaimRequest, ClaimResponse, WorkerInfo } from "@outrider/contract/worker";
import type { BuildAssignment } from "@outrider/contract/worker/build";
import type { ShellAssignment } from "@outrider/contract/worker/shell";
import type { ActiveWork } from "./active-work.ts";
import type { FreeSpace } from "./free-space.ts";
import type { Log } from "./log.ts";
import { HttpStatusError } from "./server-client/http.ts";
import type { ServerClient } from "./server-client/server-client.ts";

const RETRY_CLAIM_MS = 2_000;
const CLAIM_WAIT_MS = 20_000;
const RETURN_CLAIM_MS = 5_000;
const RECHECK_DISK_MS = 2_000;

interface ClaimLoopOptions {
  server: ServerClient;
  worker: WorkerInfo;
  active: ActiveWork;
  freeSpace: FreeSpace;
  /** `leaseStart` is the time at which the execution's lease starts. */
  startExecution(assignment: Assignment, leaseStart: bigint): void;
  startBuild(assignment: BuildAssignment): void;
  /** `leaseStart` is the time at which the shell's lease starts. */
  startShell(assignment: ShellAssignment, leaseStart: bigint): void;
  /** Called before each claim is sent. */
  onClaim(requestId: string): void;
  /** Aborts when the worker must stop claiming work. The loop itself aborts it when the server drains the worker. */
  stopping: AbortController;
  /** Aborts when the worker stops talking to the server. */
  stopped: AbortSignal;
  log: Log;
}

/**
 * Claims runs, builds and shells while the worker has free slots and free disk space, until it stops.
 *
 * Each claim is a long poll with a request id. The server answers a repeated request id with the same result, so a lost
 * response does not lose the claimed work. If the worker stops while a claim is in flight, the loop repeats that claim
 * with no free slots and releases whatever the server had granted.
 *
 * The first claim does not wait, because its response says what the server offers: shells, and runs with a harness.
 */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  /** The optional fields that the server accepts, according to its last response. Undefined until the first one. */
  #accepted: Pick<ClaimRequest, "takes_shells" | "takes_harnesses"> | undefined;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { active, freeSpace, startBuild, startShell, onClaim, stopping, stopped, log } = this.#options;
    for (let request_id = randomUUID(); !stopping.signal.aborted; ) {
      const free = active.freeSlots;
      if (free <= 0) {
        await active.freed;
        continue;
      }
      if (!(await freeSpace.isEnough())) {
        await this.#wait(RECHECK_DISK_MS);
        continue;
      }
      try {
        onClaim(request_id);
        const sentAt = process.hrtime.bigint();
        const { executions, builds, shells = [], draining } = await this.#claim(request_id, free);
        request_id = randomUUID();
        if (executions.length > 0) {
          // The disk may have filled up during the long poll.
          if (await freeSpace.isEnough()) await this.#startExecutions(executions, sentAt);
          else await this.#release(executions, stopped);
        }
        for (const build of builds) startBuild(build);
        for (const shell of shells) startShell(shell, sentAt);
        if (draining) stopping.abort();
      } catch (error) {
        if (stopping.signal.aborted) {
          await this.#returnLastClaim(request_id);
          continue;
        }
        // A rejected claim, for example one with an invalid key, would be rejected again. Retrying at once would flood
        // the logs.
        log.warn({ error }, "failed to claim work");
        await this.#wait(RETRY_CLAIM_MS);
      }
    }
  }

  async #claim(request_id: string, free: number): Promise<ClaimResponse> {
    const { server, worker, stopping } = this.#options;
    const accepted = this.#accepted;
    const wait_ms = accepted === undefined ? 0 : CLAIM_WAIT_MS;
    const request = { request_id, worker, free, wait_ms };
    const response = await server.claim({ ...request, ...accepted }, stopping.signal).catch((error) => {
      const hasFields = accepted?.takes_shells || accepted?.takes_harnesses;
      if (!hasFields || !(error instanceof HttpStatusError && error.status === 400)) throw error;
      // During an upgrade, the request may reach a server of the previous version, which rejects the unknown fields.
      return server.claim(request, stopping.signal);
    });
    this.#accepted = {
      ...(response.offers_shells ? { takes_shells: true } : {}),
      ...(response.offers_harnesses ? { takes_harnesses: true } : {}),
    };
    return response;
  }

  /**
   * Starts claimed executions. A lease starts when its request is sent, so a heartbeat renews the leases first if the
   * claim was pending for long.
   */
  async #startExecutions(executions: Assignment[], claimedAt: bigint) {
    const { server, worker, startExecution, stopped } = this.#options;
    const shortestLeaseMs = Math.min(...executions.map(({ lease_ms }) => lease_ms));
    const sentAt = process.hrtime.bigint();
    if (Number(sentAt - claimedAt) / 1e6 < shortestLeaseMs / 2) {
      for (const assignment of executions) startExecution(assignment, claimedAt);
      return;
    }
    const ids = executions.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
    const { held } = await server.heartbeat({ worker, executions: ids }, stopped);
    for (const assignment of executions)
      if (held.includes(assignment.execution_id)) startExecution(assignment, sentAt);
  }

  async #release(executions: Assignment[], signal: AbortSignal) {
    const { server } = this.#options;
    for (const { execution_id, run_id } of executions) await server.release(execution_id, { run_id }, signal);
  }

  /** Releases any work that the server granted to the claim in flight when the worker stopped. */
  async #returnLastClaim(request_id: string) {
    const { server, worker, log } = this.#options;
    const signal = AbortSignal.timeout(RETURN_CLAIM_MS);
    try {
      const { executions } = await server.claim({ request_id, worker, free: 0, wait_ms: 0 }, signal);
      await this.#release(executions, signal);
    } catch (error) {
      log.warn({ error }, "failed to return the last claim");
    }
  }

  async #wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#options.stopping.signal }).catch(() => {});
  }
}
