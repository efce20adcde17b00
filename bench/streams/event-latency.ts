import { type Child, startChild } from "../support/child-process.ts";
import { type BenchResult, compare, rateOf, type Sample } from "../support/compare.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "../support/start-outrider.ts";
import { waitUntil } from "../support/wait-until.ts";
import type { Notifications } from "./baseline-notify.ts";
import type { ReportEvents } from "./event-reporter.ts";
import type { Arrivals, OpenStreams } from "./stream-clients.ts";

/**
 * Measures how soon a written event reaches every one of many stream clients of its run, compared to the delivery time of
 * a bare NOTIFY. Times are shown as rates: a twentieth of the rate is twenty times the time.
 */

const CLIENTS = 200;
const EVENTS = 50;
const INTERVAL_MS = 40;

export async function benchEventLatency(): Promise<BenchResult[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const start = (file: URL) => stack.use(startChild(file));
  const subject = await eventsOf(outrider, {
    reporter: start(new URL("./event-reporter.ts", import.meta.url)),
    streams: start(new URL("./stream-clients.ts", import.meta.url)),
  });
  const baseline = await notificationsOf(outrider, {
    sender: start(new URL("./baseline-notify.ts", import.meta.url)),
    receiver: start(new URL("./baseline-notify.ts", import.meta.url)),
  });
  await subject();
  await baseline();
  return [await compare({ name: "event p99", limit: 1 / 20, subject, baseline })];
}

async function eventsOf(
  outrider: Outrider,
  { reporter, streams }: Record<"reporter" | "streams", Child>,
): Promise<() => Promise<Sample>> {
  const { origin, key } = outrider;
  const { run_id: runId } = await post<{ run_id: string }>(outrider, "/agent/run", {
    prompt: "SAY: nothing",
  });
  const workerKey = await createWorkerKey(outrider);
  await streams.ask({ origin, key, runId, open: CLIENTS } satisfies OpenStreams);
  return async () => {
    const reports: ReportEvents = { origin, key: workerKey, count: EVENTS, intervalMs: INTERVAL_MS };
    const written = await reporter.ask<Map<number, bigint>>(reports);
    const last = Math.max(...written.keys());
    let arrivals: Arrivals = new Map();
    await waitUntil("every client to receive every event", async () => {
      arrivals = await streams.ask<Arrivals>("arrivals");
      return arrivals.get(last)?.length === CLIENTS;
    });
    const times = [...written].flatMap(([seq, at]) => {
      const arrived = arrivals.get(seq) ?? [];
      if (arrived.length !== CLIENTS) throw new Error(`Event ${seq} reached ${arrived.length} clients.`);
      // A client may receive the event before its writer gets the response.
      return arrived.map((then) => Math.max(Number(then - at) / 1e6, 0.01));
    });
    return rateOf(times, 0.99);
  };
}

async function notificationsOf(
  { connection }: Outrider,
  { sender, receiver }: Record<"sender" | "receiver", Child>,
): Promise<() => Promise<Sample>> {
  const none: Notifications = { connection, action: "receive", first: 1, count: 0, intervalMs: 0 };
  await receiver.ask(none); // Starts listening.
  let first = 1;
  return async () => {
    const notifications = { connection, first, count: EVENTS, intervalMs: INTERVAL_MS };
    first += EVENTS;
    const receiving = receiver.ask<Map<number, bigint>>({
      ...notifications,
      action: "receive",
    } satisfies Notifications);
    const sending = sender.ask<Map<number, bigint>>({
      ...notifications,
      action: "send",
    } satisfies Notifications);
    const [received, sent] = await Promise.all([receiving, sending]);
    const times = [...sent].map(([number, at]) => Number((received.get(number) as bigint) - at) / 1e6);
    return rateOf(times, 0.99);
  };
}
