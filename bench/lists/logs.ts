import type { RunEvent } from "@outrider/contract/event";
import { limits } from "@outrider/contract/limits";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import { get, type Installation, sendRequest } from "./large-installation.ts";

/** Compares logs in a large and a small installation: reading the end of a log, and deleting runs with their logs. */

const TURNS = 4;
const LOGS = 10;
/** Long enough for a deep page. */
const MIN_EVENTS = 100;

export async function benchLogs({
  large,
  small,
  only,
}: {
  large: Installation;
  small: Installation;
  only: string | undefined;
}): Promise<BenchResult[]> {
  const comparisons = [
    { name: "end of a log", side: endsOf },
    { name: "delete a run with its log", side: deletionsOf },
  ];
  const results: BenchResult[] = [];
  for (const { name, side } of comparisons) {
    if (only && !name.includes(only)) continue;
    const [subject, baseline] = [await side(large), await side(small)];
    results.push(
      await compare({ name, limit: 0.5, ...interleave({ turns: TURNS, quantile: 0.5, subject, baseline }) }),
    );
  }
  return results;
}

interface Log {
  run_id: string;
  last_seq: number;
}

/** Picks long logs from random times, each once, so that no database page is cached from the previous one. */
async function pickLogs({ db }: Installation): Promise<() => Log> {
  const logs = await db<Log[]>`
    select run_id, last_seq from run_state
    where state in ('SUCCEEDED', 'FAILED', 'CANCELLED') and last_seq >= ${MIN_EVENTS}
    order by md5(run_id::text) limit 1000`;
  return () => {
    const log = logs.pop();
    if (!log) throw new Error("The installation has too few long logs.");
    return log;
  };
}

async function timesOf(work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < LOGS; count++) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function endsOf(of: Installation): Promise<() => Promise<number[]>> {
  const next = await pickLogs(of);
  return () =>
    timesOf(async () => {
      const { run_id, last_seq } = next();
      const after = last_seq - limits.pageSize.default;
      const { events } = await get<{ events: RunEvent[] }>(of, `/agent/runs/${run_id}/events?after=${after}`);
      if (events.at(-1)?.seq !== last_seq)
        throw new Error(`The log of ${run_id} does not end at ${last_seq}.`);
    });
}

async function deletionsOf(of: Installation): Promise<() => Promise<number[]>> {
  const next = await pickLogs(of);
  return () =>
    timesOf(async () => {
      const { run_id } = next();
      await sendRequest(of.outrider, "DELETE", `/agent/runs/${run_id}`);
      const [left] = await of.db`select 1 from events where run_id = ${run_id} limit 1`;
      if (left) throw new Error(`The run ${run_id} was deleted, but not its log.`);
    });
}
