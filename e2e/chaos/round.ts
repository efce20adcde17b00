import type { RunState } from "@outrider/contract/run";
import { isFinal } from "@outrider/contract/run-state";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { executePlan, followUp } from "./execute-plan.ts";
import { type Acknowledged, type History, type Limit, readRunRecords, readStepFiles } from "./history.ts";
import { type Installation, limits, policy, type RoundOptions, startInstallation } from "./installation.ts";
import { findViolations } from "./invariants.ts";
import { makePlan } from "./plan.ts";
import { waitFor } from "./wait-for.ts";

const SETTLE_TIMEOUT_MS = 60_000;
/** Each sandbox of a run takes seconds to start. */
const SETTLE_TIMEOUT_WITH_PODS_MS = 300_000;

export interface Round {
  problems: string[];
  /** One line about what happened. */
  summary: string;
  /** Contains the logs, database and step files of a failed round. */
  folder: string;
}

/** Starts an installation, executes the plan of a seed, and checks the invariants. */
export async function runRound(seed: number, options: RoundOptions = {}): Promise<Round> {
  const clock = startClock();
  const plan = makePlan(seed, { hasPods: options.pods !== undefined });
  const installation = await startInstallation(options);
  clock.lap("start");
  const db = openDb(installation.database.connection, { connections: 1 });
  let problems: string[] = [];
  let summary = "";
  try {
    const acknowledged = await executePlan(installation, plan);
    clock.lap("faults");
    await waitForFinalRuns(installation, db, acknowledged).catch((error) => problems.push(String(error)));
    clock.lap("settle");
    await installation.stopWorkers();
    const history = await collectHistory(installation, db, acknowledged);
    problems.push(
      ...findViolations(history, policy),
      ...Object.values(installation.processes).flatMap(({ crashes }) => crashes),
    );
    summary = summarize(history, plan.faults.length);
  } catch (error) {
    problems = [...problems, error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    await db.end({ timeout: 5 });
    await installation.stop({ keep: problems.length > 0 });
  }
  clock.lap("end");
  return {
    problems,
    summary: `${summary}, ${installation.client.attempts} requests; ${clock}`,
    folder: installation.folder,
  };
}

/** Measures how long each phase of a round takes. */
function startClock() {
  let before = performance.now();
  const laps: string[] = [];
  return {
    lap(name: string) {
      const now = performance.now();
      laps.push(`${name} ${((now - before) / 1_000).toFixed(1)} s`);
      before = now;
    },
    toString: () => laps.join(", "),
  };
}

/** Waits until every run has ended, and answers the questions of blocked runs. Called after the last fault. */
async function waitForFinalRuns(
  { client, keys, pods }: Installation,
  db: Db,
  acknowledged: Acknowledged,
): Promise<void> {
  let answers = 0;
  await waitFor(pods ? SETTLE_TIMEOUT_WITH_PODS_MS : SETTLE_TIMEOUT_MS, "every run is final", async () => {
    const open = await db<{ run_id: string; state: RunState }[]>`
      select run_id, state from run_state where state in ('QUEUED', 'INPROGRESS', 'BLOCKED')`;
    for (const { run_id } of open.filter(({ state }) => state === "BLOCKED")) {
      const name = `answer-${++answers}`;
      await followUp({
        client,
        key: keys.user,
        acknowledged,
        run_id,
        name,
        mode: "auto",
        script: "Yes, continue.",
      });
    }
    return open.every(({ state }) => isFinal(state));
  });
}

async function collectHistory(
  { stepFolder, environmentId }: Installation,
  db: Db,
  acknowledged: Acknowledged,
): Promise<History> {
  const uids = await db<{ name: string; uid: string }[]>`
    select name, uid from identities union all select name, key_id from keys where limits is not null`;
  const uidOf = (name: string) => uids.find((row) => row.name === name)?.uid;
  const allLimits: Limit[] = [
    { name: "the installation", max: policy.maxConcurrentRuns, counts: () => true },
    {
      name: "the environment",
      max: limits.environment,
      counts: (run) => run.environment_id === environmentId,
    },
    { name: "the key", max: limits["limited key"], counts: (run) => run.key_id === uidOf("limited") },
    ...(["agent of one", "agent of two"] as const).map((name) => ({
      name,
      max: limits[name],
      counts: ({ owner_uid }: { owner_uid: string }) => owner_uid === uidOf(name),
    })),
  ];
  const maxOverrunMs = policy.leaseMs + policy.graceMs;
  return {
    ...(await readRunRecords(db)),
    steps: readStepFiles(stepFolder),
    acknowledged,
    limits: allLimits,
    maxOverrunMs,
  };
}

function summarize({ runs, executions, followups, steps }: History, faults: number): string {
  const states = Map.groupBy(runs, ({ state }) => state.toLowerCase());
  const ended = [...states].map(([state, { length }]) => `${length} ${state}`).join(", ");
  const lost = executions.filter(({ outcome }) => outcome === "LOST").length;
  const withdrawn = followups.filter(({ delivery }) => delivery === "withdrawn").length;
  return (
    `${faults} faults, ${runs.length} runs (${ended}), ${executions.length} executions (${lost} lost), ` +
    `${steps.length} steps, ${followups.length} follow-ups (${withdrawn} withdrawn)`
  );
}
