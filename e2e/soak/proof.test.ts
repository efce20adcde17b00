import { describe, expect, test } from "vitest";
import type { Evidence } from "../torture/evidence.ts";
import { compare, type Span, unevenIn } from "./level.ts";
import { complaintsIn, noiseIn } from "./noise.ts";
import { problemsOf } from "./proof.ts";
import type { Seen } from "./stream.ts";

/** A proof that cannot fail proves nothing: here each is shown what it must not let pass. */

const RUNS = 250;
const person = { owner_uid: "person", key_id: "key", environment_id: null };

interface Round extends Evidence {
  seen: Seen[];
}

/** More runs than are looked at in one go; of each, one follow-up, one execution, one step and one reader. */
function sound(): Round {
  const round: Round = {
    ...{ runs: [], events: [], followups: [], executions: [], steps: [], seen: [] },
    told: { created: new Map(), followups: [], cancelled: [] },
    limits: [],
    outliveMs: 200,
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
      ...person,
    });
    types.forEach((type, place) => {
      const id = type === "message.user" ? followup_id : null;
      round.events.push({
        run_id,
        seq: place + 1,
        type,
        at: at + place * 100,
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
    round.told.created.set(`name-${index}`, run_id);
    round.told.followups.push({ followup_id, run_id, script: "" });
    round.seen.push({ runId: run_id, seqs: [1, 2, 3, 4], connections: 2, isWhole: true });
  }
  return round;
}

const problemsAfter = (tamper: (round: Round) => void) => {
  const round = sound();
  tamper(round);
  return problemsOf(round, round.seen, { slots: 1 });
};
const at = <T>(list: T[], index: number) => list[index] as T;

test("sound evidence holds nothing against us", () => {
  expect(problemsAfter(() => {})).toEqual([]);
});

describe("what is found out:", () => {
  test.each<[string, (round: Round) => void, RegExp]>([
    [
      "a run that is lost",
      ({ runs }) => void runs.splice(120, 1),
      /run-120 was acknowledged and is not there/,
    ],
    ["a run made twice", ({ told }) => void told.created.delete("name-249"), /run-249 is there and nobody/],
    [
      "two creations with one run",
      ({ told }) => void told.created.set("another", "run-7"),
      /run-7 is the answer to name-7 and another/,
    ],
    [
      "a gap in the numbers",
      ({ events }) => void events.splice(801, 1),
      /run-200 should have the events 1 to 4/,
    ],
    [
      "a follow-up that is lost",
      ({ followups }) => void followups.splice(180, 1),
      /followup-180 was accepted/,
    ],
    [
      "a follow-up that waits for ever",
      ({ followups }) => Object.assign(at(followups, 150), { delivery: "queued" }),
      /followup-150 is queued/,
    ],
    [
      "a command that ran twice in one attempt",
      ({ steps }) => void steps.push({ ...at(steps, 5), from: 5_210, to: 5_250 }),
      /run-5.step was begun 2 times, where 1 may be/,
    ],
    [
      "two commands at once on a worker of one slot, in runs that are far apart",
      ({ steps, executions }) => {
        Object.assign(at(executions, 240), { from: 100 });
        Object.assign(at(steps, 240), { from: 160 });
      },
      /ran 2 steps at once in 1 slots/,
    ],
    [
      "a reader who missed an event",
      ({ seen }) => Object.assign(at(seen, 3), { seqs: [1, 3, 4] }),
      /reader of run run-3 saw 1 3 4/,
    ],
    [
      "a reader who was shown one twice",
      ({ seen }) => Object.assign(at(seen, 3), { seqs: [1, 2, 2, 3, 4] }),
      /reader of run run-3 saw 1 2 2 3 4/,
    ],
    [
      "a reader who was shown what a fail-over lost",
      ({ seen }) => Object.assign(at(seen, 3), { seqs: [1, 2, 3, 4, 5] }),
      /reader of run run-3 saw what is gone/,
    ],
    [
      "a stream without an end",
      ({ seen }) => Object.assign(at(seen, 3), { isWhole: false }),
      /run-3 did not come to an end/,
    ],
  ])("%s", (_name, tamper, complaint) => {
    expect(problemsAfter(tamper).join("\n")).toMatch(complaint);
  });
});

test("a command may run again for each worker that was lost", () => {
  const again = ({ steps, executions }: Round) => {
    const lost = { ...at(executions, 5), execution_id: "lost", to: 5_120, outcome: "LOST" };
    executions.push(lost);
    steps.push({ ...at(steps, 5), execution_id: "lost", from: 5_105, to: 5_115, isDone: false });
  };
  expect(problemsAfter(again)).toEqual([]);
});

const spans: { before: Span; after: Span } = { before: { from: 0, to: 100 }, after: { from: 200, to: 300 } };
const readings = (what: string, first: number, last: number) =>
  [first, last].map((value, index) => ({ what, at: index * 200, value }));

test("what grows past its bound is not level, nor is what was not measured", () => {
  const level = (what: string, first: number, last: number) =>
    unevenIn(compare({ readings: readings(what, first, last), timings: [] }, spans));
  expect(level("memory of server 1, MB", 100, 170)).toEqual([]);
  expect(level("memory of server 1, MB", 100, 240)).toHaveLength(1);
  expect(level("heap of server 1, MB", 50, 100)).toHaveLength(1);
  expect(level("file descriptors of worker 1", 50, 90)).toHaveLength(1);
  expect(level("connections to PostgreSQL", 70, 90)).toHaveLength(1);
  expect(level("memory of server 1, MB", 100, Number.NaN)).toHaveLength(1);
  const timings = [50, 50, 900].map((ms, index) => ({ name: "create", at: index * 100, ms }));
  expect(unevenIn(compare({ readings: [], timings }, spans))).toEqual([
    "p99 of writes, ms: 50.0 at first and 900.0 at the end, where 525.0 may be.",
  ]);
});

const line = (seconds: number, level: number, msg: string) =>
  JSON.stringify({ level, time: new Date(seconds * 1_000).toISOString(), msg });
const outage = { from: 10_000, to: 12_000 };

test("a complaint is forgiven in an outage, unless it is one of very many", () => {
  const noise = (log: string[]) => noiseIn("server 1", complaintsIn(log.join("\n")), [outage]);
  expect(noise([line(5, 30, "answered"), line(11, 40, "cannot look")])).toEqual([]);
  expect(noise([line(13, 40, "cannot look")])).toEqual([
    "server 1 complained once while all was well: cannot look",
  ]);
  expect(noise(Array.from({ length: 50 }, () => line(11, 50, "storm")))).toEqual([
    "server 1 complained 50 times in 2 s without a database.",
  ]);
  expect(noise(["TypeError: x is not a function", "    at y"])).toHaveLength(2);
});
