import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { DEFAULT_SANDBOX, type SandboxKind } from "@outrider/contract/sandbox-kind";
import type { Assignment, ClaimRequest, ClaimResponse, WorkerInfo } from "@outrider/contract/worker";
import type { BuildAssignment } from "@outrider/contract/worker/build";
import type { ShellAssignment } from "@outrider/contract/worker/shell";
import { DEFAULT_POOL, type WorkerLabels } from "@outrider/contract/worker-pool";
import type { ActiveWork } from "./active-work.ts";
import type { FreeSpace } from "./free-space.ts";
import type { Log } from "./log.ts";
import { HttpStatusError } from "./server-client/http.ts";
import type { ServerClient } from "./server-client/server-client.ts";

const RETRY_CLAIM_MS = 2_000;
const CLAIM_WAIT_MS = 20_000;
const RETURN_CLAIM_MS = 5_000;
const RECHECK_MS = 2_000;

/** Where runs find the worker. Servers of older versions know neither pools nor labels nor kinds of sandboxes. */
export interface WorkerPlace {
  pool: string;
  labels: WorkerLabels;
  /** The kind of its sandboxes. */
  sandbox: string;
}

interface ClaimLoopOptions {
  server: ServerClient;
  worker: WorkerInfo;
  place: WorkerPlace;
  active: ActiveWork;
  freeSpace: Pick<FreeSpace, "isEnough">;
  /** Whether sandboxes can be opened now. Default: always. */
  isAvailable?: () => Promise<boolean>;
  /** `leaseStart` is the time at which the executions' leases start. */
  startExecutions(assignments: Assignment[], leaseStart: bigint): void;
  startBuild(assignment: BuildAssignment): void;
  /** `leaseStart` is the time at which the shell's lease starts. */
  startShell(assignment: ShellAssignment, leaseStart: bigint): void;
  /** Called before each claim is sent. */
  onClaim(requestId: string): void;
  /** Called when the server has accepted a claim. */
  onAccepted(): void;
  /** Aborts when the worker must stop claiming work. The loop itself aborts it when the server drains the worker. */
  stopping: AbortController;
  /** Aborts when the worker stops talking to the server. */
  stopped: AbortSignal;
  log: Log;
}

const everything: Accepted = { knowsPools: true, knowsSandboxes: true };

/** What the server accepts, according to its last response. */
interface Accepted extends Pick<ClaimRequest, "takes_shells" | "takes_harnesses"> {
  knowsPools: boolean;
  knowsSandboxes: boolean;
}

/**
 * Claims runs, builds and shells while the worker has free slots and free disk space and can open sandboxes, until it stops.
 *
 * Each claim is a long poll with a request id. The server answers a repeated request id with the same result, so a lost
 * response does not lose the claimed work. If the worker stops while a claim is in flight, the loop repeats that claim
 * with no free slots and releases whatever the server had granted.
 *
 * The first claim does not wait, because its response says what the server offers: shells, runs with a harness, pools, and
 * kinds of sandboxes. A server of an older version rejects pools and labels. A worker of the default pool then claims without
 * its labels, and other workers take no work, because such a server would assign runs of the default pool to them. Nor does
 * a worker whose sandboxes are not local take work from a server that does not know kinds, because it could get builds that
 * it cannot open.
 */
export class ClaimLoop {
  readonly #options: ClaimLoopOptions;
  /** Undefined until the first response. */
  #accepted: Accepted | undefined;
  #isPlaceRefused = false;

  constructor(options: ClaimLoopOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { active, startBuild, startShell, onClaim, onAccepted, stopping, stopped, log } = this.#options;
    for (let request_id = randomUUID(); !stopping.signal.aborted; ) {
      const free = active.freeSlots;
      if (free <= 0) {
        await active.freed;
        continue;
      }
      if (!(await this.#canWork())) {
        await this.#wait(RECHECK_MS);
        continue;
      }
      try {
        onClaim(request_id);
        const sentAt = process.hrtime.bigint();
        const { executions, builds, shells = [], draining } = await this.#claim(request_id, free);
        onAccepted();
        if (this.#isPlaceRefused) await this.#wait(RETRY_CLAIM_MS);
        request_id = randomUUID();
        if (executions.length > 0) {
          // The disk may have filled up, or the container engine stopped, during the long poll.
          if (await this.#canWork()) await this.#startExecutions(executions, sentAt);
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

  async #canWork(): Promise<boolean> {
    const { freeSpace, isAvailable } = this.#options;
    return (await freeSpace.isEnough()) && ((await isAvailable?.()) ?? true);
  }

  async #claim(request_id: string, free: number): Promise<ClaimResponse> {
    const { server, worker, place, stopping, log } = this.#options;
    const { knowsPools, knowsSandboxes, ...accepted }: Accepted = this.#accepted ?? everything;
    const hasOtherSandboxes = place.sandbox !== DEFAULT_SANDBOX;
    const isElsewhere = place.pool !== DEFAULT_POOL || hasOtherSandboxes;
    const hasPlace = isElsewhere || Object.keys(place.labels).length > 0;
    const isPlaceKnown = knowsPools && (knowsSandboxes || !hasOtherSandboxes);
    const wait_ms = this.#accepted === undefined ? 0 : CLAIM_WAIT_MS;
    // Without a free slot, a server that does not know the place cannot assign runs of the default pool to the worker.
    const unplaced = { request_id, worker, ...(isElsewhere ? { free: 0, wait_ms: 0 } : { free, wait_ms }) };
    const request =
      hasPlace && isPlaceKnown ? { request_id, worker: this.#placed(), free, wait_ms } : unplaced;
    const response = await server.claim({ ...request, ...accepted }, stopping.signal).catch((error) => {
      const hasFields = request !== unplaced || accepted.takes_shells || accepted.takes_harnesses;
      if (!hasFields || !(error instanceof HttpStatusError && error.status === 400)) throw error;
      // During an upgrade, the request may reach a server of the previous version, which rejects the unknown fields.
      return server.claim(unplaced, stopping.signal);
    });
    this.#accepted = {
      ...(response.offers_shells ? { takes_shells: true } : {}),
      ...(response.offers_harnesses ? { takes_harnesses: true } : {}),
      knowsPools: response.offers_pools ?? false,
      knowsSandboxes: response.offers_sandboxes ?? false,
    };
    const isKindRefused = hasOtherSandboxes && !response.offers_sandboxes;
    const isRefused = isElsewhere && (!response.offers_pools || isKindRefused);
    if (isRefused && !this.#isPlaceRefused) {
      if (isKindRefused)
        log.warn(
          { sandbox: place.sandbox },
          "server does not know kinds of sandboxes; waiting for its upgrade",
        );
      else log.warn({ pool: place.pool }, "server does not know pools; waiting for its upgrade");
    }
    this.#isPlaceRefused = isRefused;
    return response;
  }

  /** Returns the worker with its place, for servers that know it. Local sandboxes are the default. */
  #placed(): WorkerInfo {
    const { worker, place } = this.#options;
    const { sandbox, ...others } = place;
    return {
      ...{ ...worker, ...others },
      ...(sandbox === DEFAULT_SANDBOX ? {} : { sandbox: sandbox as SandboxKind }),
    };
  }

  /**
   * Starts claimed executions. A lease starts when its request is sent, so a heartbeat renews the leases first if the
   * claim was pending for long.
   */
  async #startExecutions(executions: Assignment[], claimedAt: bigint) {
    const { server, worker, startExecutions, stopped } = this.#options;
    const shortestLeaseMs = Math.min(...executions.map(({ lease_ms }) => lease_ms));
    const sentAt = process.hrtime.bigint();
    if (Number(sentAt - claimedAt) / 1e6 < shortestLeaseMs / 2) {
      startExecutions(executions, claimedAt);
      return;
    }
    const ids = executions.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
    const { held } = await server.heartbeat({ worker, executions: ids }, stopped);
    const isHeld = ({ execution_id }: Assignment) => held.includes(execution_id);
    startExecutions(executions.filter(isHeld), sentAt);
  }

  async #release(executions: Assignment[], signal: AbortSignal) {
    const { server } = this.#options;
    for (const { execution_id, run_id } of executions) await server.release(execution_id, { run_id }, signal);
  }

  /** Releases any work that the server granted to the claim in flight when the worker stopped. */
  async #returnLastClaim(request_id: string) {
    const { server, worker: unplaced, log } = this.#options;
    const { knowsPools, knowsSandboxes } = this.#accepted ?? { knowsPools: false };
    const isPlaceKnown = knowsPools && (knowsSandboxes || this.#options.place.sandbox === DEFAULT_SANDBOX);
    const worker = isPlaceKnown ? this.#placed() : unplaced;
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
