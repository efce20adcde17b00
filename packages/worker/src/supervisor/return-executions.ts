import type { InterruptRequest, WorkerInfo } from "@outrider/contract/worker";
import { LeaseLostError, type ServerClient } from "../server-client/server-client.ts";
import type { RunExecution } from "./messages.ts";

export type Suspicion = InterruptRequest["suspicion"];

/** Reports the executions of a killed process to the server, which gives the runs to a worker again. */
export async function returnExecutions(
  server: ServerClient,
  {
    executions,
    suspicionOf,
    signal,
  }: { executions: RunExecution[]; suspicionOf(execution: RunExecution): Suspicion; signal: AbortSignal },
): Promise<void> {
  await Promise.all(
    executions.map(async (execution) => {
      const { run_id, execution_id } = execution;
      const suspicion = suspicionOf(execution);
      try {
        await server.interrupt(execution_id, { run_id, suspicion }, signal);
      } catch (error) {
        if (!(error instanceof LeaseLostError)) throw error;
        // The run has ended, or a server of the previous version does not know the operation. That one can at least
        // return the other runs.
        if (suspicion === "none") await server.release(execution_id, { run_id }, signal);
      }
    }),
  );
}

/**
 * Returns what the server granted to a claim of a killed process, because the response may not have reached it. A
 * repeated claim without free slots returns the same executions and claims nothing.
 */
export async function listClaimed(
  server: ServerClient,
  { requestId, worker, signal }: { requestId: string; worker: WorkerInfo; signal: AbortSignal },
): Promise<RunExecution[]> {
  const { executions } = await server.claim({ request_id: requestId, worker, free: 0, wait_ms: 0 }, signal);
  return executions.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
}
