import { describe, expect, test } from "vitest";
import type { History } from "../chaos/history.ts";
import { compare, findGrowth, type Span } from "./growth.ts";
import { findAllViolations } from "./invariants.ts";
import { findUnexpectedWarnings, parseLog } from "./log-warnings.ts";
import type { ObservedStream } from "./read-stream.ts";

/** Corrupts a valid history in many ways and expects the invariants to detect each. */

const RUNS = 250;
const user = { owner_uid: "user", key_id: "key", environment_id: null };

interface Round extends History {
  streams: ObservedStream[];
}

/** More runs than one group contains, each with one follow-up, one execution, one step and one reader. */
function validHistory(): Round {
  const round: Round = {
    ...{ runs: [], events: [], followups: [], executions: [], steps: [], streams: [] },
    acknowledged: { created: new Map(), followups: [], cancelled: [] },
    limits: [],
    maxOverrunMs: 200,
  };
  for (let index = 0; index < RUNS; index++) {
    const [run_id, followup_id, execution_id] = [`run-${index}`, `followup-${index}`, `execution-${index}`];
    const name = `${run_id}.step`;
    const at = index * 1_000;
    const types = ["run.created", "run.claimed", "message.user", "run.succeeded"];
    round.runs.push({
      run_id,
      prompt: `RUN: /outside/step ${name} 40`,
      state: "SUCCEEDED",
      last_seq: 4,
      ...user,
    });
    types.forEach((type, position) => {
      const id = type === "message.user" ? followup_id : null;
      round.events.push({
        run_id,
        seq: position + 1,
        type,
        at: at + position * 100,
        followup_id: id,
        failure: null,
      });
    });
    round.followups.push({ followup_id, run_id, mode: "auto", delivery: "delivered", seq: 3, at: at + 50 });
    round.executions.push({
      ...{ execution_id, run_id, worker_id: "worker", turn: 1, attempt: 1 },
      ...{ from: at + 100, to: at + 300, outcome: "SUCCEEDED" },
    });
    round.steps.push({ execution_id, name, from: at + 150, to: at + 200, isDone: true });
    round.acknowledged.created.set(`name-${index}`, run_id);
    round.acknowledged.followups.push({ followup_id, run_id, script: "" });
    round.streams.push({ runId: run_id, seqs: [1, 2, 3, 4], connections: 2, isComplete: true });
  }
  return round;
}

const problemsAfter = (tamper: (round: Round) => void) => {
  const round = validHistory();
  tamper(round);
  return findAllViolations(round, round.streams, { slots: 1 });
};
const at = <T>(list: T[], index: number) => list[index] as T;

test("finds no violation in a valid history", () => {
  expect(problemsAfter(() => {})).toEqual([]);
});

describe("detects", () => {
  test.each<[string, (round: Round) => void, RegExp]>([
    ["a lost run", ({ runs }) => void runs.splice(120, 1), /run-120 was acknowledged but is not stored/],
    [
      "a run created twice",
      ({ acknowledged }) => void acknowledged.created.delete("name-249"),
      /run-249 is stored but was never acknowledged/,
    ],
    [
      "two creations that return the same run",
      ({ acknowledged }) => void acknowledged.created.set("another", "run-7"),
      /run-7 is the answer to name-7 and another/,
    ],
    [
      "a gap in the sequence numbers",
      ({ events }) => void events.splice(801, 1),
      /run-200 should have events 1 to 4/,
    ],
    ["a lost follow-up", ({ followups }) => void followups.splice(180, 1), /followup-180 was acknowledged/],
    [
      "an undelivered follow-up",
      ({ followups }) => Object.assign(at(followups, 150), { delivery: "queued" }),
      /followup-150 is queued/,
    ],
    [
      "a command that ran twice in one attempt",
      ({ steps }) => void steps.push({ ...at(steps, 5), from: 5_210, to: 5_250 }),
      /run-5.step started 2 times; 1 allowed/,
    ],
    [
      "two commands at once on a worker with one slot, in runs of different groups",
      ({ steps, executions }) => {
        Object.assign(at(executions, 240), { from: 100 });
        Object.assign(at(steps, 240), { from: 160 });
      },
      /ran 2 steps at once but has 1 slots/,
    ],
    [
      "a reader that missed an event",
      ({ streams }) => Object.assign(at(streams, 3), { seqs: [1, 3, 4] }),
      /reader of run run-3 saw 1 3 4/,
    ],
    [
      "a reader that received an event twice",
      ({ streams }) => Object.assign(at(streams, 3), { seqs: [1, 2, 2, 3, 4] }),
      /reader of run run-3 saw 1 2 2 3 4/,
    ],
    [
      "a reader that received an event that the failover lost",
      ({ streams }) => Object.assign(at(streams, 3), { seqs: [1, 2, 3, 4, 5] }),
      /reader of run run-3 saw events that are not stored/,
    ],
    [
      "a stream that never ends",
      ({ streams }) => Object.assign(at(streams, 3), { isComplete: false }),
      /run-3 did not end/,
    ],
  ])("%s", (_name, tamper, expected) => {
    expect(problemsAfter(tamper).join("\n")).toMatch(expected);
  });
});

test("allows a command to run again for each lost worker", () => {
  const again = ({ steps, executions }: Round) => {
    const lost = { ...at(executions, 5), execution_id: "lost", to: 5_120, outcome: "LOST" };
    executions.push(lost);
    steps.push({ ...at(steps, 5), execution_id: "lost", from: 5_105, to: 5_115, isDone: false });
  };
  expect(problemsAfter(again)).toEqual([]);
});

const spans: { before: Span; after: Span } = { before: { from: 0, to: 100 }, after: { from: 200, to: 300 } };
const readings = (gauge: string, first: number, last: number) =>
  [first, last].map((value, index) => ({ gauge, at: index * 200, value }));

test("reports values that exceed their limit or were not measured", () => {
  const growth = (gauge: string, first: number, last: number) =>
    findGrowth(compare({ readings: readings(gauge, first, last), timings: [] }, spans));
  expect(growth("memory of server 1, MB", 100, 170)).toEqual([]);
  expect(growth("memory of server 1, MB", 100, 240)).toHaveLength(1);
  expect(growth("heap of server 1, MB", 50, 100)).toHaveLength(1);
  expect(growth("file descriptors of worker 1", 50, 90)).toHaveLength(1);
  expect(growth("connections to PostgreSQL", 70, 90)).toHaveLength(1);
  expect(growth("memory of server 1, MB", 100, Number.NaN)).toHaveLength(1);
  const timings = [50, 50, 900].map((ms, index) => ({ name: "create", at: index * 100, ms }));
  expect(findGrowth(compare({ readings: [], timings }, spans))).toEqual([
    "p99 of writes, ms grew from 50.0 to 900.0; the limit is 525.0.",
  ]);
});

const line = (seconds: number, level: number, msg: string) =>
  JSON.stringify({ level, time: new Date(seconds * 1_000).toISOString(), msg });
const outage = { from: 10_000, to: 12_000 };

test("allows a bounded number of warnings during an outage, and none outside of it", () => {
  const unexpected = (log: string[]) =>
    findUnexpectedWarnings("server 1", parseLog(log.join("\n")), [outage]);
  expect(unexpected([line(5, 30, "request completed"), line(11, 40, "failed to query")])).toEqual([]);
  expect(unexpected([line(13, 40, "failed to query")])).toEqual([
    "server 1 logged a warning once outside of an outage: failed to query",
  ]);
  expect(unexpected(Array.from({ length: 50 }, () => line(11, 50, "storm")))).toEqual([
    "server 1 logged 50 warnings in 2 s without a database.",
  ]);
  expect(unexpected(["TypeError: x is not a function", "    at y"])).toHaveLength(2);
});
