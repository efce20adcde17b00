import { isFinal, type RunState } from "@outrider/contract/run";
import { type Db, openDb } from "@outrider/server/store/db";
import { type Evidence, type Limit, readLog, readSteps, type Told } from "./evidence.ts";
import { followUp, perform } from "./perform.ts";
import { makePlan } from "./plan.ts";
import { problemsIn } from "./proof.ts";
import { within } from "./within.ts";
import { limits, rules, startWorld, type World } from "./world.ts";

const CALM_MS = 60_000;

export interface Round {
  problems: string[];
  /** One line on what happened. */
  story: string;
  /** Logs, database and steps of a round that failed. */
  folder: string;
}

/** One world, one plan, and the proof that it came through. */
export async function playRound(seed: number): Promise<Round> {
  const clock = startClock();
  const plan = makePlan(seed);
  const world = await startWorld();
  clock.lap("start");
  const db = openDb(world.database.connection, { connections: 1 });
  let problems: string[] = [];
  let story = "";
  try {
    const told = await perform(world, plan);
    clock.lap("faults");
    await calm(world, db, told).catch((error) => problems.push(String(error)));
    clock.lap("calm");
    await world.stopWorkers();
    const evidence = await gather(world, db, told);
    problems.push(
      ...problemsIn(evidence, rules),
      ...Object.values(world.parts).flatMap(({ crashes }) => crashes),
    );
    story = tell(evidence, plan.faults.length);
  } catch (error) {
    problems = [...problems, error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    await db.end({ timeout: 5 });
    await world.stop({ keep: problems.length > 0 });
  }
  clock.lap("end");
  return { problems, story: `${story}, ${world.client.tries} requests; ${clock}`, folder: world.folder };
}

/** How long each part of a round took. */
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

/** Nothing breaks any more: every run comes to its end, once its questions are answered. */
async function calm({ client, keys }: World, db: Db, told: Told): Promise<void> {
  let answers = 0;
  await within(CALM_MS, "every run is final", async () => {
    const open = await db<{ run_id: string; state: RunState }[]>`
      select run_id, state from run_heads where state in ('QUEUED', 'INPROGRESS', 'BLOCKED')`;
    for (const { run_id } of open.filter(({ state }) => state === "BLOCKED")) {
      const name = `answer-${++answers}`;
      await followUp({ client, key: keys.person, told, run_id, name, mode: "auto", script: "Yes, go on." });
    }
    return open.every(({ state }) => isFinal(state));
  });
}

async function gather({ lives, environmentId }: World, db: Db, told: Told): Promise<Evidence> {
  const uids = await db<{ name: string; uid: string }[]>`
    select name, uid from identities union all select name, key_id from keys where limits is not null`;
  const uidOf = (name: string) => uids.find((one) => one.name === name)?.uid;
  const all: Limit[] = [
    { name: "the installation", max: rules.atOnce, counts: () => true },
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
  const outliveMs = rules.leaseMs + rules.graceMs;
  return { ...(await readLog(db)), steps: readSteps(lives), told, limits: all, outliveMs };
}

function tell({ runs, executions, followups, steps }: Evidence, faults: number): string {
  const states = Map.groupBy(runs, ({ state }) => state.toLowerCase());
  const ended = [...states].map(([state, { length }]) => `${length} ${state}`).join(", ");
  const lost = executions.filter(({ outcome }) => outcome === "LOST").length;
  const withdrawn = followups.filter(({ delivery }) => delivery === "withdrawn").length;
  return (
    `${faults} faults, ${runs.length} runs (${ended}), ${executions.length} executions (${lost} lost), ` +
    `${steps.length} steps, ${followups.length} follow-ups (${withdrawn} withdrawn)`
  );
}
