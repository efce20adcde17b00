import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "@outrider/server/store/connection/db";
import { executionLabel } from "@outrider/worker/run/execution-label";

/**
 * Everything a round recorded: rows of the database, the files that steps wrote, and what servers acknowledged to clients.
 * The invariants check it after the round. All times are milliseconds of the same machine's clock.
 */
export interface History {
  runs: RunRecord[];
  events: EventRecord[];
  followups: FollowupRecord[];
  executions: ExecutionRecord[];
  steps: StepRecord[];
  /** Requests that a server answered with success. */
  acknowledged: Acknowledged;
  limits: Limit[];
  /** How long a step may keep running after its run was cancelled, while its worker cannot know of the cancel. */
  maxOverrunMs: number;
}

export interface Acknowledged {
  /** Run ids by the name of the planned run. */
  created: Map<string, string>;
  /** In the order of the answers. */
  followups: { followup_id: string; run_id: string; script: string }[];
  cancelled: string[];
}

export interface RunRecord {
  run_id: string;
  prompt: string;
  state: string;
  last_seq: number;
  owner_uid: string;
  key_id: string;
  environment_id: string | null;
}

export interface EventRecord {
  run_id: string;
  seq: number;
  type: string;
  at: number;
  followup_id: string | null;
  /** The error of a failed run, as "code: message". */
  failure: string | null;
}

export interface FollowupRecord {
  followup_id: string;
  run_id: string;
  mode: string;
  delivery: string;
  seq: number | null;
  at: number;
}

export interface ExecutionRecord {
  /** The label of the execution, after which step.sh names its files. */
  execution_id: string;
  run_id: string;
  worker_id: string;
  turn: number;
  attempt: number;
  from: number;
  to: number | null;
  outcome: string | null;
}

/** One execution of a step, from the first line in its file to the last. */
export interface StepRecord {
  execution_id: string;
  name: string;
  from: number;
  to: number;
  isDone: boolean;
}

/** How many of the runs that `counts` selects may be active at once. */
export interface Limit {
  name: string;
  max: number;
  counts(run: RunRecord): boolean;
}

/** Reads runs, events, follow-ups and executions from the database. */
export async function readRunRecords(
  sql: Sql,
): Promise<Pick<History, "runs" | "events" | "followups" | "executions">> {
  const ms = (column: string) => sql`(extract(epoch from ${sql(column)}) * 1000)::float`;
  return {
    runs: await sql<RunRecord[]>`
      select run_id, r.prompt, h.state, h.last_seq, h.owner_uid, h.key_id, h.environment_id
      from runs r join run_state h using (run_id)`,
    events: await sql<EventRecord[]>`
      select run_id, seq, type, ${ms("created_at")} as at, data ->> 'followup_id' as followup_id,
        (data #>> '{status_message,error_code}') || ': ' || (data #>> '{status_message,message}') as failure
      from events order by run_id, seq`,
    followups: await sql<FollowupRecord[]>`
      select followup_id, run_id, mode, delivery, seq, ${ms("created_at")} as at from followups order by position`,
    executions: (
      await sql<ExecutionRecord[]>`
        select execution_id, run_id, worker_id, turn, attempt, ${ms("claimed_at")} as from, ${ms("ended_at")} as to, outcome
        from executions order by claimed_at`
    ).map((execution) => ({ ...execution, execution_id: executionLabel(execution.execution_id) })),
  };
}

/** Reads the files that step.sh wrote, one for each execution. */
export function readStepFiles(folder: string): StepRecord[] {
  return readdirSync(folder).flatMap((execution_id) => {
    const steps: StepRecord[] = [];
    const lines = readFileSync(join(folder, execution_id), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    for (const line of lines) {
      const [name = "", phase, seconds] = line.split(" ");
      const at = Number(seconds) * 1_000;
      if (phase === "begin") steps.push({ execution_id, name, from: at, to: at, isDone: false });
      const step = steps.at(-1);
      if (step?.name !== name)
        throw new Error(`${execution_id}: "${line}" does not belong to a step that started.`);
      step.to = at;
      step.isDone = phase === "end";
    }
    return steps;
  });
}
