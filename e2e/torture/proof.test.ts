import { describe, expect, test } from "vitest";
import type { EventEvidence, Evidence } from "./evidence.ts";
import { makePlan } from "./plan.ts";
import { problemsIn } from "./proof.ts";

/** A proof that cannot fail proves nothing: here each is shown what it must not let pass. */

const event = (seq: number, type: string, more: Partial<EventEvidence> = {}): EventEvidence => ({
  ...{ run_id: "run", seq, type, at: seq * 100, followup_id: null, failure: null },
  ...more,
});
const person = { owner_uid: "person", key_id: "key", environment_id: null };
const execution = { run_id: "run", worker_id: "worker", turn: 1, attempt: 1 };
const step = { execution_id: "second", name: "one", from: 520, to: 560, isDone: true };

/** One run that lost its first worker and took up two follow-ups, and another that was cancelled. */
function sound(): Evidence {
  return {
    runs: [
      { run_id: "run", prompt: "RUN: /outside/step one 40", state: "SUCCEEDED", last_seq: 7, ...person },
      { run_id: "other", prompt: "", state: "CANCELLED", last_seq: 3, ...person },
    ],
    events: [
      event(1, "run.created"),
      event(2, "run.claimed"),
      event(3, "run.recovering"),
      event(4, "run.claimed"),
      event(5, "message.user", { followup_id: "second" }),
      event(6, "message.user", { followup_id: "first" }),
      event(7, "run.succeeded"),
      event(1, "run.created", { run_id: "other", at: 650 }),
      event(2, "run.claimed", { run_id: "other", at: 700 }),
      event(3, "run.cancelled", { run_id: "other", at: 800 }),
    ],
    followups: [
      { followup_id: "first", run_id: "run", mode: "queue", delivery: "delivered", seq: 6, at: 420 },
      { followup_id: "second", run_id: "run", mode: "auto", delivery: "delivered", seq: 5, at: 430 },
      { followup_id: "third", run_id: "other", mode: "auto", delivery: "withdrawn", seq: null, at: 750 },
    ],
    executions: [
      { ...execution, execution_id: "first", from: 200, to: 300, outcome: "LOST" },
      { ...execution, execution_id: "second", attempt: 2, from: 400, to: 700, outcome: "SUCCEEDED" },
      { ...execution, execution_id: "third", run_id: "other", from: 700, to: 800, outcome: "CANCELLED" },
    ],
    steps: [
      { ...step, execution_id: "first", from: 250, to: 290, isDone: false },
      step,
      // Its worker was cut off and did not hear of the cancel.
      { ...step, execution_id: "third", name: "other", from: 710, to: 900, isDone: false },
    ],
    told: {
      created: new Map([
        ["run", "run"],
        ["other", "other"],
      ]),
      followups: ["first", "second", "third"].map((followup_id) => ({ followup_id, run_id: "", script: "" })),
      cancelled: ["other"],
    },
    limits: [{ name: "the key", max: 1, counts: () => true }],
    outliveMs: 200,
  };
}

const problemsAfter = (tamper: (evidence: Evidence) => void) => {
  const evidence = sound();
  tamper(evidence);
  return problemsIn(evidence, { slots: 1 });
};
const at = <T>(list: T[], index: number) => list[index] as T;

test("sound evidence holds nothing against us", () => {
  expect(problemsAfter(() => {})).toEqual([]);
});

describe("what is found out:", () => {
  test.each<[string, (evidence: Evidence) => void, RegExp]>([
    ["a run that did not end", ({ runs }) => Object.assign(at(runs, 0), { state: "BLOCKED" }), /is BLOCKED/],
    ["a run that is gone", ({ told }) => void told.created.set("third", "gone"), /gone was acknowledged/],
    ["a run made twice", ({ told }) => void told.created.delete("other"), /nobody was told/],
    ["a gap in the numbers", ({ events }) => void events.splice(2, 1), /events 1 to 7/],
    ["an event behind the last number", ({ runs }) => Object.assign(at(runs, 0), { last_seq: 6 }), /1 to 6/],
    [
      "a cancelled run that went on in the log",
      ({ events, runs }) => {
        events.push(event(4, "command.started", { run_id: "other" }));
        Object.assign(at(runs, 1), { last_seq: 4 });
      },
      /command.started after run.cancelled/,
    ],
    [
      "a run that a fault made fail",
      ({ events }) => Object.assign(at(events, 6), { type: "run.failed", failure: "sandbox_lost: gone" }),
      /failed, sandbox_lost/,
    ],
    [
      "a cancel that left no trace",
      ({ events }) => Object.assign(at(events, 9), { type: "run.failed" }),
      /cancelled, but not in its log/,
    ],
    [
      "a cancelled run that went on in fact",
      ({ steps }) => Object.assign(at(steps, 2), { to: 1_050 }),
      /50 ms/,
    ],
    ["a step after its lease was lost", ({ steps }) => Object.assign(at(steps, 0), { to: 310 }), /LOST/],
    [
      "a step before its claim",
      ({ steps }) => Object.assign(at(steps, 0), { from: 190 }),
      /before it was claimed/,
    ],
    ["two attempts at once", ({ steps }) => Object.assign(at(steps, 0), { to: 530 }), /began before/],
    [
      "a step that was never done",
      ({ steps }) => Object.assign(at(steps, 1), { isDone: false }),
      /never done/,
    ],
    ["a follow-up that is gone", ({ followups }) => void followups.pop(), /accepted and is gone/],
    [
      "a follow-up stored twice",
      ({ told }) => void told.followups.pop(),
      /Nobody was told of follow-up third/,
    ],
    [
      "a follow-up delivered twice",
      ({ events }) => Object.assign(at(events, 4), { followup_id: "first" }),
      /log has it as \[5,6\]/,
    ],
    [
      "a follow-up that still waits",
      ({ followups }) => Object.assign(at(followups, 0), { delivery: "queued" }),
      /is queued/,
    ],
    [
      "a follow-up withdrawn by nobody",
      ({ followups }) => Object.assign(at(followups, 2), { at: 810 }),
      /cancelled: false/,
    ],
    [
      "a follow-up that overtook another",
      ({ followups }) => Object.assign(at(followups, 0), { mode: "auto" }),
      /arrived before first/,
    ],
    [
      "a limit exceeded in the log",
      ({ events }) => Object.assign(at(events, 8), { at: 690 }),
      /By the log, 2 runs of the key/,
    ],
    [
      "a limit exceeded in fact",
      ({ steps, executions }) => {
        Object.assign(at(executions, 2), { from: 500, worker_id: "other" });
        Object.assign(at(steps, 2), { from: 540 });
      },
      /By the steps, 2 runs of the key/,
    ],
    [
      "a worker with more than its slots",
      ({ steps }) => Object.assign(at(steps, 2), { from: 540 }),
      /2 steps at once in 1 slots/,
    ],
  ])("%s", (_name, tamper, complaint) => {
    expect(problemsAfter(tamper).join("\n")).toMatch(complaint);
  });
});

test("a seed fixes the plan, and another seed makes another", () => {
  expect(makePlan(7)).toEqual(makePlan(7));
  expect(makePlan(7)).not.toEqual(makePlan(8));
});
