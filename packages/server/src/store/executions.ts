import type { Sql, Tx } from "./db.ts";

export interface Execution {
  execution_id: string;
  run_id: string;
  worker_id: string;
  ended_at: string | null;
  outcome: string | null;
  final_batch: number | null;
}

export async function findExecution(sql: Sql, executionId: string): Promise<Execution | undefined> {
  const [row] = await sql<Execution[]>`
    select execution_id, run_id, worker_id, ended_at, outcome, final_batch
    from executions where execution_id = ${executionId}`;
  return row;
}

export async function endExecution(
  tx: Tx,
  {
    executionId,
    outcome,
    finalBatch = null,
  }: { executionId: string; outcome: string; finalBatch?: number | null },
): Promise<void> {
  await tx`
    update executions set ended_at = outrider_now(), outcome = ${outcome}, final_batch = ${finalBatch}
    where execution_id = ${executionId} and ended_at is null`;
}
