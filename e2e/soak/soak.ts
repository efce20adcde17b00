import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defaultRules } from "@outrider/server/engine/rules";
import { type Db, openDb } from "@outrider/server/store/db";
import { type Evidence, readLog, readSteps } from "../torture/evidence.ts";
import { within } from "../torture/within.ts";
import { failOver, type Outage, restartDatabase } from "./faults.ts";
import { metric, watchGauges } from "./gauges.ts";
import { compare, type Row, unevenIn } from "./level.ts";
import { type Outcome, work } from "./load.ts";
import { complaintsIn, noiseIn } from "./noise.ts";
import { problemsOf } from "./proof.ts";
import { deafIn } from "./words.ts";
import { SLOTS, startWorld, type World } from "./world.ts";

const CALM_MS = 90_000;
/** After an outage, what was begun in it may still complain. */
const ECHO_MS = 10_000;

/** When things happen, as shares of the whole: calm that counts lies before what breaks, and after it. */
const moments = { warm: 0.12, restart: 0.4, failOver: 0.55, calm: 0.7 };

export interface Soak {
  problems: string[];
  rows: Row[];
  /** What happened, a line each. */
  story: string[];
  /** Logs, database and steps of a round that failed. */
  folder: string;
}

/** Load on two servers for a while, a restart and a fail-over of their database in the middle, and the proof at the end. */
export async function soak(ms: number): Promise<Soak> {
  const world = await startWorld();
  const { folder } = world;
  const result: Soak = { problems: [], rows: [], story: [], folder };
  try {
    await play(world, ms, result);
  } catch (error) {
    result.problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await world.stop({ keep: result.problems.length > 0 });
  }
  return result;
}

async function play(world: World, ms: number, { problems, rows, story }: Soak): Promise<void> {
  const { client, pair, servers, workers, folder } = world;
  const began = Date.now();
  const moment = (share: number) => began + share * ms;
  const gauges = watchGauges(world);
  const working = work(client, moment(1));
  const [outcome, outages] = await Promise.all([working, strike(world, moment)]).finally(gauges.stop);

  const db = openDb(pair.connection(), { connections: 1 });
  try {
    problems.push(...(await deafIn(world, outcome.told)));
    await calm(db).catch((error) => problems.push(String(error)));
    problems.push(...(await forgottenIn(world)));
    await world.stopWorkers();
    const evidence = await gather(world, db, outcome);
    problems.push(...problemsOf(evidence, outcome.seen, { slots: SLOTS }));
    story.push(...tell(world, evidence, outcome, outages));
  } finally {
    await db.end({ timeout: 5 });
  }
  const lastOutage = Math.max(...outages.map(({ to }) => to));
  rows.push(
    ...compare(
      { readings: gauges.readings, timings: client.timings },
      {
        before: { from: moment(moments.warm), to: moment(moments.restart) },
        after: { from: Math.max(moment(moments.calm), lastOutage), to: moment(1) },
      },
    ),
  );
  const end = Date.now();
  const loud = outages.map(({ from, to }) => ({ from, to: Math.min(to + ECHO_MS, end) }));
  const parts = [...servers, ...workers];
  const said = parts.map(({ name }) => ({
    name,
    ...complaintsIn(readFileSync(join(folder, `${name}.log`), "utf8")),
  }));
  story.push(`complaints: ${said.map(({ name, complaints }) => `${name} ${complaints.length}`).join(", ")}`);
  problems.push(
    ...unevenIn(rows),
    ...client.problems,
    ...parts.flatMap(({ crashes }) => crashes),
    ...said.flatMap((one) => noiseIn(one.name, one, loud)),
  );
}

async function strike(world: World, moment: (share: number) => number): Promise<Outage[]> {
  const at = (share: number) => pause(Math.max(0, moment(share) - Date.now()));
  await at(moments.restart);
  const first = await restartDatabase(world);
  await at(moments.failOver);
  return [first, await failOver(world)];
}

async function calm(db: Db): Promise<void> {
  await within(CALM_MS, "every run is final", async () => {
    const open = await db`select 1 from run_heads where state in ('QUEUED', 'INPROGRESS', 'BLOCKED') limit 1`;
    return open.length === 0;
  });
}

/** Every reader has gone, and the servers know it. */
async function forgottenIn({ client, servers }: World): Promise<string[]> {
  const problems: string[] = [];
  for (const [index, server] of client.servers.entries()) {
    let waiting: number | undefined;
    await within(10_000, "no stream waits", async () => {
      waiting = await metric(server, client.headers(), "outrider_streams_waiting");
      return waiting === 0;
    }).catch(() =>
      problems.push(`${servers[index]?.name} still holds ${waiting} streams that nobody reads.`),
    );
  }
  return problems;
}

async function gather({ lives }: World, db: Db, { told }: Outcome): Promise<Evidence> {
  const outliveMs = defaultRules.leaseMs + defaultRules.graceMs;
  const log = await readLog(db);
  return { ...log, steps: readSteps(lives), told, limits: [], outliveMs };
}

function tell(
  { client }: World,
  { runs, events, executions, followups, steps }: Evidence,
  { seen }: Outcome,
  outages: Outage[],
): string[] {
  const states = [...Map.groupBy(runs, ({ state }) => state.toLowerCase())];
  const lost = executions.filter(({ outcome }) => outcome === "LOST").length;
  const withdrawn = followups.filter(({ delivery }) => delivery === "withdrawn").length;
  const connections = seen.reduce((sum, one) => sum + one.connections, 0);
  const { answered, refused, unanswered } = client.counts;
  return [
    `${runs.length} runs (${states.map(([state, { length }]) => `${length} ${state}`).join(", ")}), ` +
      `${events.length} events, ${executions.length} executions (${lost} lost), ${steps.length} steps`,
    `${followups.length} follow-ups (${withdrawn} withdrawn), ${seen.length} streams over ${connections} connections`,
    `${answered} requests answered, ${refused} refused with 503, ${unanswered} without an answer`,
    ...outages.map(
      ({ name, downMs, recoveryMs }) =>
        `${name}: the database was away for ${seconds(downMs)}, both servers took writes ${seconds(recoveryMs)} later`,
    ),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
