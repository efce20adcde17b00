import type { Sql } from "../connection/db.ts";

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

/** The run that an execution belongs to, and the key of its worker. */
export interface ExecutionHolder {
  run_id: string;
  /** Null if only the previous version has seen the worker. */
  key_id: string | null;
}

export async function findExecutionHolder(
  sql: Sql,
  executionId: string,
): Promise<ExecutionHolder | undefined> {
  const [row] = await sql<ExecutionHolder[]>`
    select e.run_id, w.key_id from executions e left join workers w using (worker_id)
    where e.execution_id = ${executionId}`;
  return row;
}
