import type { RunEvent } from "@outrider/contract/event";
import { limits } from "@outrider/contract/limits";
import { ask, get, type Installation } from "./installation.ts";
import { compare, inTurns, type Verdict } from "./rounds.ts";

/** Logs among fifty million events against those among a hundredth of it: reading the end of one, and deleting runs with theirs. */

const TURNS = 4;
const LOGS = 10;
/** Runs are long enough for a page far in. */
const LEAST_EVENTS = 100;

export async function benchLogs({
  many,
  few,
  only,
}: {
  many: Installation;
  few: Installation;
  only: string | undefined;
}): Promise<Verdict[]> {
  const contests = [
    { name: "log of a run, its end", side: endsOf },
    { name: "delete a run with its log", side: deletionsOf },
  ];
  const verdicts: Verdict[] = [];
  for (const { name, side } of contests) {
    if (only && !name.includes(only)) continue;
    const [subject, anchor] = [await side(many), await side(few)];
    verdicts.push(
      await compare({ name, limit: 0.5, ...inTurns({ turns: TURNS, part: 0.5, subject, anchor }) }),
    );
  }
  return verdicts;
}

interface Log {
  run_id: string;
  last_seq: number;
}

/** Long logs from all over the year, each of them once: no page of the database was read for the one before. */
async function pickLogs({ db }: Installation): Promise<() => Log> {
  const logs = await db<Log[]>`
    select run_id, last_seq from run_heads
    where state in ('SUCCEEDED', 'FAILED', 'CANCELLED') and last_seq >= ${LEAST_EVENTS}
    order by md5(run_id::text) limit 1000`;
  return () => {
    const log = logs.pop();
    if (!log) throw new Error("The year has too few long logs.");
    return log;
  };
}

async function timesOf(work: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let one = 0; one < LOGS; one++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
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
      await ask(of.outrider, "DELETE", `/agent/runs/${run_id}`);
      const [left] = await of.db`select 1 from events where run_id = ${run_id} limit 1`;
      if (left) throw new Error(`The run ${run_id} was deleted, but not its log.`);
    });
}
