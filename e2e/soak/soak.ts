import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defaultRunPolicy } from "@outrider/server/engine/runs/run-policy";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import { type History, readRunRecords, readStepFiles } from "../chaos/history.ts";
import { waitFor } from "../chaos/wait-for.ts";
import { failOver, type Outage, restartDatabase } from "./faults.ts";
import { readMetric, sampleGauges } from "./gauges.ts";
import { type Comparison, compare, findGrowth } from "./growth.ts";
import { type Installation, SLOTS, startInstallation } from "./installation.ts";
import { findAllViolations } from "./invariants.ts";
import { generateLoad, type LoadResult } from "./load.ts";
import { findUnexpectedWarnings, parseLog } from "./log-warnings.ts";
import { findServersWithoutNotifications } from "./notifications.ts";

const SETTLE_TIMEOUT_MS = 90_000;
/** Requests that started during an outage may log warnings for this long after it. */
const RECOVERY_WINDOW_MS = 10_000;

/** When each phase starts, as a fraction of the duration. Growth compares the time before the restart with the last phase. */
const phases = { measureBefore: 0.12, restart: 0.4, failover: 0.55, measureAfter: 0.7 };

export interface SoakResult {
  problems: string[];
  comparisons: Comparison[];
  /** Lines about what happened. */
  summary: string[];
  /** Contains the logs, database and step files of a failed soak. */
  folder: string;
}

/** Puts load on two servers, restarts and fails over their database, and checks the invariants at the end. */
export async function soak(ms: number): Promise<SoakResult> {
  const installation = await startInstallation();
  const { folder } = installation;
  const result: SoakResult = { problems: [], comparisons: [], summary: [], folder };
  try {
    await runSoak(installation, ms, result);
  } catch (error) {
    result.problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await installation.stop({ keep: result.problems.length > 0 });
  }
  return result;
}

async function runSoak(
  installation: Installation,
  ms: number,
  { problems, comparisons, summary }: SoakResult,
): Promise<void> {
  const { client, postgres, servers, workers, folder } = installation;
  const start = Date.now();
  const timeAt = (share: number) => start + share * ms;
  const gauges = sampleGauges(installation);
  const load = generateLoad(client, timeAt(1));
  const [result, outages] = await Promise.all([load, injectFaults(installation, timeAt)]).finally(
    gauges.stop,
  );

  const db = openDb(postgres.connection(), { connections: 1 });
  try {
    problems.push(...(await findServersWithoutNotifications(installation, result.acknowledged)));
    await waitForFinalRuns(db).catch((error) => problems.push(String(error)));
    problems.push(...(await findLeakedStreams(installation)));
    await installation.stopWorkers();
    const history = await collectHistory(installation, db, result);
    problems.push(...findAllViolations(history, result.streams, { slots: SLOTS }));
    summary.push(...summarize(installation, history, result, outages));
  } finally {
    await db.end({ timeout: 5 });
  }
  const lastOutage = Math.max(...outages.map(({ to }) => to));
  comparisons.push(
    ...compare(
      { readings: gauges.readings, timings: client.timings },
      {
        before: { from: timeAt(phases.measureBefore), to: timeAt(phases.restart) },
        after: { from: Math.max(timeAt(phases.measureAfter), lastOutage), to: timeAt(1) },
      },
    ),
  );
  const end = Date.now();
  const outageWindows = outages.map(({ from, to }) => ({ from, to: Math.min(to + RECOVERY_WINDOW_MS, end) }));
  const processes = [...servers, ...workers];
  const logs = processes.map(({ name }) => ({
    name,
    ...parseLog(readFileSync(join(folder, `${name}.log`), "utf8")),
  }));
  summary.push(`warnings: ${logs.map(({ name, warnings }) => `${name} ${warnings.length}`).join(", ")}`);
  problems.push(
    ...findGrowth(comparisons),
    ...client.problems,
    ...processes.flatMap(({ crashes }) => crashes),
    ...logs.flatMap((log) => findUnexpectedWarnings(log.name, log, outageWindows)),
  );
}

async function injectFaults(
  installation: Installation,
  timeAt: (share: number) => number,
): Promise<Outage[]> {
  const waitUntilPhase = (share: number) => pause(Math.max(0, timeAt(share) - Date.now()));
  await waitUntilPhase(phases.restart);
  const first = await restartDatabase(installation);
  await waitUntilPhase(phases.failover);
  return [first, await failOver(installation)];
}

async function waitForFinalRuns(db: Db): Promise<void> {
  await waitFor(SETTLE_TIMEOUT_MS, "every run is final", async () => {
    const open = await db`select 1 from run_state where state in ('QUEUED', 'INPROGRESS', 'BLOCKED') limit 1`;
    return open.length === 0;
  });
}

/** Finds servers that keep streams open after all readers have disconnected. */
async function findLeakedStreams({ client, servers }: Installation): Promise<string[]> {
  const problems: string[] = [];
  for (const [index, server] of client.servers.entries()) {
    let open: number | undefined;
    await waitFor(10_000, "no stream is open", async () => {
      open = await readMetric(server, client.headers(), "outrider_streams_waiting");
      return open === 0;
    }).catch(() => problems.push(`${servers[index]?.name} still has ${open} open streams without a reader.`));
  }
  return problems;
}

async function collectHistory(
  { stepFolder }: Installation,
  db: Db,
  { acknowledged }: LoadResult,
): Promise<History> {
  const maxOverrunMs = defaultRunPolicy.leaseMs + defaultRunPolicy.graceMs;
  const records = await readRunRecords(db);
  return { ...records, steps: readStepFiles(stepFolder), acknowledged, limits: [], maxOverrunMs };
}

function summarize(
  { client }: Installation,
  { runs, events, executions, followups, steps }: History,
  { streams }: LoadResult,
  outages: Outage[],
): string[] {
  const states = [...Map.groupBy(runs, ({ state }) => state.toLowerCase())];
  const lost = executions.filter(({ outcome }) => outcome === "LOST").length;
  const withdrawn = followups.filter(({ delivery }) => delivery === "withdrawn").length;
  const connections = streams.reduce((sum, stream) => sum + stream.connections, 0);
  const { answered, unavailable, unanswered } = client.counts;
  return [
    `${runs.length} runs (${states.map(([state, { length }]) => `${length} ${state}`).join(", ")}), ` +
      `${events.length} events, ${executions.length} executions (${lost} lost), ${steps.length} steps`,
    `${followups.length} follow-ups (${withdrawn} withdrawn), ${streams.length} streams over ${connections} connections`,
    `${answered} requests answered, ${unavailable} answered 503, ${unanswered} without an answer`,
    ...outages.map(
      ({ name, downMs, recoveryMs }) =>
        `${name}: the database was unavailable for ${seconds(downMs)}, both servers accepted writes ${seconds(recoveryMs)} later`,
    ),
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
