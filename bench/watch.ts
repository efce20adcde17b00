import { type Child, startChild } from "./child.ts";
import type { Notices } from "./notices.ts";
import { createWorkerKey, type Outrider, post, startOutrider } from "./outrider.ts";
import type { Reports } from "./reporter.ts";
import { compare, rateOf, type Sample, type Verdict } from "./rounds.ts";
import type { Seen, Streams } from "./streams.ts";
import { until } from "./until.ts";

/**
 * How soon an event that is written is at every one of many watchers of its run, against a bare NOTIFY, from when it is
 * sent to when it is heard. Times stand as rates: a twentieth of the rate is twenty times the time.
 */

const WATCHERS = 200;
const EVENTS = 50;
const EVERY_MS = 40;

export async function benchWatch(): Promise<Verdict[]> {
  await using outrider = await startOutrider();
  await using stack = new AsyncDisposableStack();
  const start = (file: string) => stack.use(startChild(file));
  const subject = await eventsOf(outrider, { reporter: start("reporter.ts"), streams: start("streams.ts") });
  const anchor = await noticesOf(outrider, { sayer: start("notices.ts"), hearer: start("notices.ts") });
  await subject();
  await anchor();
  return [await compare({ name: "event p99", limit: 1 / 20, subject, anchor })];
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
  await streams.ask({ origin, key, runId, open: WATCHERS } satisfies Streams);
  return async () => {
    const reports: Reports = { origin, key: workerKey, count: EVENTS, everyMs: EVERY_MS };
    const written = await reporter.ask<Map<number, bigint>>(reports);
    const last = Math.max(...written.keys());
    let seen: Seen = new Map();
    await until("every watcher to have every event", async () => {
      seen = await streams.ask<Seen>("seen");
      return seen.get(last)?.length === WATCHERS;
    });
    const times = [...written].flatMap(([seq, at]) => {
      const arrived = seen.get(seq) ?? [];
      if (arrived.length !== WATCHERS) throw new Error(`Event ${seq} came to ${arrived.length} watchers.`);
      // It may be at a watcher before its writer knows.
      return arrived.map((then) => Math.max(Number(then - at) / 1e6, 0.01));
    });
    return rateOf(times, 0.99);
  };
}

async function noticesOf(
  { connection }: Outrider,
  { sayer, hearer }: Record<"sayer" | "hearer", Child>,
): Promise<() => Promise<Sample>> {
  const none: Notices = { connection, does: "hear", first: 1, count: 0, everyMs: 0 };
  await hearer.ask(none); // From here on it listens.
  let first = 1;
  return async () => {
    const notices = { connection, first, count: EVENTS, everyMs: EVERY_MS };
    first += EVENTS;
    const hearing = hearer.ask<Map<number, bigint>>({ ...notices, does: "hear" } satisfies Notices);
    const saying = sayer.ask<Map<number, bigint>>({ ...notices, does: "say" } satisfies Notices);
    const [heard, said] = await Promise.all([hearing, saying]);
    const times = [...said].map(([number, at]) => Number((heard.get(number) as bigint) - at) / 1e6);
    return rateOf(times, 0.99);
  };
}
