import type { Assignment } from "@outrider/contract/worker";
import { DEFAULT_POOL } from "@outrider/contract/worker-pool";
import { ClaimLoop } from "./claim-loop.ts";
import { openWorkerRuntime, type WorkerOptions } from "./worker-runtime.ts";

export interface Worker {
  workerId: string;
  /** Resolves when the worker has no work left and claims no more, for example because the server has drained it. */
  drained: Promise<void>;
  /** Stops claiming, finishes or returns running work, then shuts down. */
  drain(): Promise<void>;
}

/** Starts a worker that claims runs and builds and executes them in parallel, one per slot. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const runtime = await openWorkerRuntime(options, { reportsStats: true });
  const { worker, active } = runtime;
  const { supervisor } = options;
  for (const run of supervisor?.isolatedRuns ?? []) active.occupySlot(run);
  const claimLoop = new ClaimLoop({
    ...runtime,
    place: {
      pool: options.pool ?? DEFAULT_POOL,
      labels: options.labels ?? {},
      sandbox: runtime.sandbox,
    },
    startExecutions(assignments, leaseStart) {
      const own = supervisor ? assignments.filter(({ is_isolated }) => !is_isolated) : assignments;
      runtime.startExecutions(own, leaseStart);
      for (const assignment of assignments)
        if (supervisor && assignment.is_isolated) active.occupySlot(supervisor.isolate(assignment));
    },
    onClaim: (requestId) => supervisor?.onClaim(requestId),
    onAccepted: () => supervisor?.onAccepted(),
  });
  const claiming = claimLoop.run();
  const idle = async () => {
    await claiming;
    await active.finished();
  };
  return { workerId: worker.worker_id, drained: idle(), drain: () => runtime.drain(idle) };
}

/** Executes a single run that another process of the worker has claimed. */
export async function startIsolatedRun(options: WorkerOptions, claimed: Assignment): Promise<Worker> {
  const runtime = await openWorkerRuntime(options, { reportsStats: false });
  const { server, worker, active, stopped } = runtime;
  // This process exits after the turn, so it cannot keep the sandbox warm.
  const assignment = { ...claimed, agent_config: { ...claimed.agent_config, idle_timeout_minutes: 0 } };
  const { run_id, execution_id } = assignment;
  // Nothing has renewed the lease since the claim.
  const sentAt = process.hrtime.bigint();
  const { held } = await server.heartbeat({ worker, executions: [{ run_id, execution_id }] }, stopped);
  if (held.includes(execution_id)) runtime.startExecutions([assignment], sentAt);
  const idle = () => active.finished();
  return { workerId: worker.worker_id, drained: idle(), drain: () => runtime.drain(idle) };
}
