import type { WorkerInfo } from "@outrider/contract/worker";
import { bindWorker } from "../../src/store/dispatch/workers.ts";
import { newWorker, type TestEngine } from "../engine.ts";

/** Registers a new worker with the admin's key. */
export async function registerWorker(engine: TestEngine): Promise<WorkerInfo> {
  const worker = newWorker();
  await bindWorker(engine.db, worker, engine.admin.credentialId);
  return worker;
}

/** Creates a run and claims it with a new worker. No other run may be queued. */
export async function claimWithNewWorker(engine: TestEngine) {
  const worker = await registerWorker(engine);
  const runId = await engine.create();
  const [execution] = await engine.claim({ worker, free: 1 });
  if (execution?.run_id !== runId) throw new Error("The worker has claimed another run.");
  return { worker, runId, executionId: execution.execution_id };
}
