import { describe, expect, test } from "vitest";
import type { EventRecord, History } from "./history.ts";
import { findViolations } from "./invariants.ts";
import { makePlan } from "./plan.ts";

/** Corrupts a valid history in many ways and expects the invariants to detect each. */

const event = (seq: number, type: string, more: Partial<EventRecord> = {}): EventRecord => ({
  ...{ run_id: "run", seq, type, at: seq * 100, followup_id: null, failure: null },
  ...more,
});
const user = { owner_uid: "user", key_id: "key", environment_id: null };
const execution = { run_id: "run", worker_id: "worker", turn: 1, attempt: 1 };
const step = { execution_id: "second", name: "one", from: 520, to: 560, isDone: true };

/** One run that lost its first worker and received two follow-ups, and another that was cancelled. */
function validHistory(): History {
  return {
    runs: [
      { run_id: "run", prompt: "RUN: /outside/step one 40", state: "SUCCEEDED", last_seq: 7, ...user },
      { run_id: "other", prompt: "", state: "CANCELLED", last_seq: 3, ...user },
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
      // Its worker was disconnected and did not receive the cancel.
      { ...step, execution_id: "third", name: "other", from: 710, to: 900, isDone: false },
    ],
    acknowledged: {
      created: new Map([
        ["run", "run"],
        ["other", "other"],
      ]),
      followups: ["first", "second", "third"].map((followup_id) => ({ followup_id, run_id: "", script: "" })),
      cancelled: ["other"],
    },
    limits: [{ name: "the key", max: 1, counts: () => true }],
    maxOverrunMs: 200,
  };
}

const problemsAfter = (tamper: (history: History) => void) => {
  const history = validHistory();
  tamper(history);
  return findViolations(history, { slots: 1 });
};
const at = <T>(list: T[], index: number) => list[index] as T;

test("finds no violation in a valid history", () => {
  expect(problemsAfter(() => {})).toEqual([]);
});

describe("detects", () => {
  test.each<[string, (history: History) => void, RegExp]>([
    [
      "a run that has not ended",
      ({ runs }) => Object.assign(at(runs, 0), { state: "BLOCKED" }),
      /is BLOCKED/,
    ],
    [
      "a lost run",
      ({ acknowledged }) => void acknowledged.created.set("third", "gone"),
      /gone was acknowledged/,
    ],
    [
      "a run created twice",
      ({ acknowledged }) => void acknowledged.created.delete("other"),
      /stored but was never acknowledged/,
    ],
    ["a gap in the sequence numbers", ({ events }) => void events.splice(2, 1), /events 1 to 7/],
    [
      "an event after the last sequence number",
      ({ runs }) => Object.assign(at(runs, 0), { last_seq: 6 }),
      /1 to 6/,
    ],
    [
      "a cancelled run that continues in the log",
      ({ events, runs }) => {
        events.push(event(4, "command.started", { run_id: "other" }));
        Object.assign(at(runs, 1), { last_seq: 4 });
      },
      /command.started after run.cancelled/,
    ],
    [
      "a run that failed because of a fault",
      ({ events }) => Object.assign(at(events, 6), { type: "run.failed", failure: "sandbox_lost: gone" }),
      /failed: sandbox_lost/,
    ],
    [
      "an acknowledged cancel that is not in the log",
      ({ events }) => Object.assign(at(events, 9), { type: "run.failed" }),
      /acknowledged cancel that its log lacks/,
    ],
    [
      "a cancelled run whose step keeps running",
      ({ steps }) => Object.assign(at(steps, 2), { to: 1_050 }),
      /50 ms/,
    ],
    [
      "a step that runs after its lease was lost",
      ({ steps }) => Object.assign(at(steps, 0), { to: 310 }),
      /LOST/,
    ],
    [
      "a step that starts before its claim",
      ({ steps }) => Object.assign(at(steps, 0), { from: 190 }),
      /before its execution was claimed/,
    ],
    [
      "two attempts that run at once",
      ({ steps }) => Object.assign(at(steps, 0), { to: 530 }),
      /started before/,
    ],
    [
      "a step that was never completed",
      ({ steps }) => Object.assign(at(steps, 1), { isDone: false }),
      /without completing/,
    ],
    ["a lost follow-up", ({ followups }) => void followups.pop(), /acknowledged but is not stored/],
    [
      "a follow-up stored twice",
      ({ acknowledged }) => void acknowledged.followups.pop(),
      /Follow-up third is stored but was never acknowledged/,
    ],
    [
      "a follow-up delivered twice",
      ({ events }) => Object.assign(at(events, 4), { followup_id: "first" }),
      /log has it as \[5,6\]/,
    ],
    [
      "an undelivered follow-up",
      ({ followups }) => Object.assign(at(followups, 0), { delivery: "queued" }),
      /is queued/,
    ],
    [
      "a follow-up withdrawn without a cancel",
      ({ followups }) => Object.assign(at(followups, 2), { at: 810 }),
      /cancelled: false/,
    ],
    [
      "a follow-up delivered out of order",
      ({ followups }) => Object.assign(at(followups, 0), { mode: "auto" }),
      /was delivered before first/,
    ],
    [
      "a limit exceeded in the log",
      ({ events }) => Object.assign(at(events, 8), { at: 690 }),
      /According to the log, 2 runs of the key/,
    ],
    [
      "a limit exceeded by steps that ran",
      ({ steps, executions }) => {
        Object.assign(at(executions, 2), { from: 500, worker_id: "other" });
        Object.assign(at(steps, 2), { from: 540 });
      },
      /According to the steps, 2 runs of the key/,
    ],
    [
      "a worker that exceeds its slots",
      ({ steps }) => Object.assign(at(steps, 2), { from: 540 }),
      /2 steps at once but has 1 slots/,
    ],
  ])("%s", (_name, tamper, expected) => {
    expect(problemsAfter(tamper).join("\n")).toMatch(expected);
  });
});

test("derives the plan from the seed", () => {
  expect(makePlan(7)).toEqual(makePlan(7));
  expect(makePlan(7)).not.toEqual(makePlan(8));
});
