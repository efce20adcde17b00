/*
 * How many statements and connections the servers of an installation need. The numbers are the intervals in the code, in
 * milliseconds. Everything that workers repeat is collected, so its rate has an upper bound for each server.
 */

/** What each server does, whether it has workers or not. */
const background = {
  "engine/operations/database-health.ts": 500,
  "engine/dispatch/reaper.ts": 1_000,
  "engine/operations/due-work.ts": 1_000,
  "engine/models/live-models.ts": 2_000,
  "store/connection/subscribe.ts": 5_000,
  "engine/usage/usage-tasks.ts": 10_000,
  // Two statements every 30 s.
  "engine/shells/shell-reaper.ts": 15_000,
};

/** What each server with waiting workers does once for all of them. */
const forAllWorkers = {
  "engine/dispatch/signals.ts": 800,
  "engine/dispatch/claimer.ts, looking for work": 800,
  "engine/dispatch/claimer.ts, recording workers": 4_000,
  "api/pipeline/auth.ts, recording keys": 10_000,
  // One notification for all places of idle workers.
  "engine/live/announcer.ts": 15_000,
};

/** The times for which requests are collected. */
const COLLECT = { claims: 200, heartbeats: 500, keys: 500 };
/** How often a worker sends them. A claim waits for half a lease. */
const EVERY = { claims: 15_000, heartbeats: 5_000 };

export const CONNECTIONS_PER_SERVER = 12;
export const TOLERANCE = 0.15;

/** Statements per second of all servers while no run is active. */
export function predictIdleStatements({ servers, workers }: { servers: number; workers: number }): number {
  const perServer = workers / servers;
  const claims = perServer / EVERY.claims;
  const heartbeats = perServer / EVERY.heartbeats;
  const rates = [
    ...Object.values({ ...background, ...forAllWorkers }).map((everyMs) => 1 / everyMs),
    collected(claims, COLLECT.claims),
    collected(heartbeats, COLLECT.heartbeats),
    collected(claims + heartbeats, COLLECT.keys),
  ];
  return 1_000 * servers * rates.reduce((sum, rate) => sum + rate);
}

/** The rate of statements for requests that arrive at a rate: one request starts to wait, and others join it. */
function collected(rate: number, collectMs: number): number {
  return 1 / (collectMs + 1 / rate);
}
