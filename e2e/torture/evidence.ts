import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "@outrider/server/store/db";

/** All that a round left behind, as the proofs read it. Times are milliseconds of this machine's one clock. */
export interface Evidence {
  runs: RunEvidence[];
  events: EventEvidence[];
  followups: FollowupEvidence[];
  executions: ExecutionEvidence[];
  steps: StepEvidence[];
  /** What clients were told. */
  told: Told;
  limits: Limit[];
  /** How long what a worker runs may outlive an end that the worker was not told of. */
  outliveMs: number;
}

export interface Told {
  /** Names of runs, and their ids. */
  created: Map<string, string>;
  /** In the order of their answers. */
  followups: { followup_id: string; run_id: string; script: string }[];
  cancelled: string[];
}

export interface RunEvidence {
  run_id: string;
  prompt: string;
  state: string;
  last_seq: number;
  owner_uid: string;
  key_id: string;
  environment_id: string | null;
}

export interface EventEvidence {
  run_id: string;
  seq: number;
  type: string;
  at: number;
  followup_id: string | null;
  /** Why a run failed. */
  failure: string | null;
}

export interface FollowupEvidence {
  followup_id: string;
  run_id: string;
  mode: string;
  delivery: string;
  seq: number | null;
  at: number;
}

export interface ExecutionEvidence {
  execution_id: string;
  run_id: string;
  worker_id: string;
  turn: number;
  attempt: number;
  from: number;
  to: number | null;
  outcome: string | null;
}

/** One life of a step: from its first word to its last. */
export interface StepEvidence {
  execution_id: string;
  name: string;
  from: number;
  to: number;
  isDone: boolean;
}

/** How many runs of a kind may be at work at once. */
export interface Limit {
  name: string;
  max: number;
  counts(run: RunEvidence): boolean;
}

export async function readLog(
  sql: Sql,
): Promise<Pick<Evidence, "runs" | "events" | "followups" | "executions">> {
  const ms = (column: string) => sql`(extract(epoch from ${sql(column)}) * 1000)::float`;
  return {
    runs: await sql<RunEvidence[]>`
      select run_id, r.prompt, h.state, h.last_seq, h.owner_uid, h.key_id, h.environment_id
      from runs r join run_heads h using (run_id)`,
    events: await sql<EventEvidence[]>`
      select run_id, seq, type, ${ms("created_at")} as at, data ->> 'followup_id' as followup_id,
        (data #>> '{status_message,error_code}') || ': ' || (data #>> '{status_message,message}') as failure
      from events order by run_id, seq`,
    followups: await sql<FollowupEvidence[]>`
      select followup_id, run_id, mode, delivery, seq, ${ms("created_at")} as at from followups order by position`,
    executions: await sql<ExecutionEvidence[]>`
      select execution_id, run_id, worker_id, turn, attempt, ${ms("claimed_at")} as from, ${ms("ended_at")} as to, outcome
      from executions order by claimed_at`,
  };
}

/** The files that step.sh wrote. */
export function readSteps(folder: string): StepEvidence[] {
  return readdirSync(folder).flatMap((execution_id) => {
    const steps: StepEvidence[] = [];
    const lines = readFileSync(join(folder, execution_id), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    for (const line of lines) {
      const [name = "", word, seconds] = line.split(" ");
      const at = Number(seconds) * 1_000;
      if (word === "begin") steps.push({ execution_id, name, from: at, to: at, isDone: false });
      const step = steps.at(-1);
      if (step?.name !== name) throw new Error(`${execution_id}: "${line}" is no word of a step that began.`);
      step.to = at;
      step.isDone = word === "end";
    }
    return steps;
  });
}
