import type { WorkerInfo } from "@outrider/contract/worker";
import type { AnyCall, AnyHandler } from "./call.ts";

/** The fields by which worker requests name a worker, an execution, a build or a shell. */
interface Named {
  executionId?: string;
  buildId?: string;
  shellId?: string;
  run_id?: string;
  worker_id?: string;
  worker?: WorkerInfo;
  finishes?: { execution_id: string; run_id: string }[];
}

/**
 * Wraps the handler of a worker operation. The wrapped handler runs only if the worker, execution, build or shell that
 * the request names belongs to the caller's key.
 */
export function requireOwnWork(handler: AnyHandler): AnyHandler {
  return async (call) => {
    await checkOwnership(call);
    return handler(call);
  };
}

async function checkOwnership({ sql, services, principal, params, query, body }: AnyCall): Promise<void> {
  const { workerAccess } = services;
  const keyId = principal.credentialId;
  const { executionId, buildId, shellId } = (params ?? {}) as Named;
  const { worker, worker_id, run_id: runId, finishes = [] } = { ...(query as Named), ...(body as Named) };
  if (worker) await workerAccess.register(sql, keyId, worker);
  if (worker_id) await workerAccess.requireWorker(sql, keyId, worker_id);
  if (executionId) await workerAccess.requireExecution(sql, keyId, { executionId, runId });
  for (const { execution_id, run_id } of finishes)
    await workerAccess.requireExecution(sql, keyId, { executionId: execution_id, runId: run_id });
  if (buildId) await workerAccess.requireBuild(sql, keyId, buildId);
  if (shellId) await workerAccess.requireShell(sql, keyId, shellId);
}
