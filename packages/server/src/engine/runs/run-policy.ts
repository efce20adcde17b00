/** Time and count limits that apply to all runs, as configured by the operator. */
export interface RunPolicy {
  /** How long a lease lasts without a heartbeat from its worker. */
  leaseMs: number;
  /**
   * How long to wait after a lease expires before recovering the run. This is longer than a worker's own deadline for
   * stopping its sandboxes, so that the old sandbox has stopped before another worker starts.
   */
  graceMs: number;
  /** How long a turn may continue after its timeout to wrap up, before the reaper ends it. */
  wrapUpMs: number;
  /** The number of attempts per turn. If the worker is lost in the last one, the run fails. */
  maxAttempts: number;
  /** How long a run may be queued. */
  queueMs: number;
  /** How long a run may wait for an answer to its question. */
  blockedMs: number;
  /** The default timeout for a turn. */
  turnMs: number;
  maxSteps: number;
  maxConcurrentRuns?: number;
  /** The number of unfinished builds that a user may have requested, directly or through cloud agents. */
  maxBuildsPerUser: number;
  /** The number of shells that a user may have at a time. */
  maxShellsPerUser: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const defaultRunPolicy: RunPolicy = {
  leaseMs: 30_000,
  graceMs: 5_000,
  wrapUpMs: 30_000,
  maxAttempts: 3,
  queueMs: 24 * HOUR,
  blockedMs: 7 * 24 * HOUR,
  turnMs: 60 * MINUTE,
  maxSteps: 200,
  maxBuildsPerUser: 5,
  maxShellsPerUser: 3,
};

/** How long the last worker may take to store the sandbox's final state after a run was cancelled or timed out. */
export const CLOSE_MS = 60_000;

/** A worker that has not contacted the service for this long is no longer considered alive. */
export const ALIVE_MS = 15_000;
