import type { Assignment, InterruptRequest } from "@outrider/contract/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../../src/engine/runs/executions.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { interrupt } from "../../src/engine/runs/interruptions.ts";
import { findRun } from "../../src/store/runs/runs.ts";
import { someUsage, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

const stalled = ({ run_id, execution_id }: Assignment, suspicion: InterruptRequest["suspicion"]) =>
  engine.tx((tx) => interrupt(tx, execution_id, { run_id, suspicion }));
const claimAgain = async ({ run_id }: Assignment) =>
  (await engine.claim()).find((one) => one.run_id === run_id) as Assignment;
const succeed = ({ run_id, execution_id }: Assignment) =>
  finish(engine.db, execution_id, {
    ...{ run_id, batch: 1, events: [], usage: someUsage },
    outcome: { type: "succeeded", text: "done" },
  });
const reasonIn = ({ history }: Assignment) =>
  history
    .filter(({ type }) => type === "run.recovering")
    .map(({ data }) => (data as { reason: string }).reason);

describe("an execution whose worker process was unresponsive", () => {
  test("is continued without losing an attempt if another run was the cause", async () => {
    const first = await engine.claimed();
    await stalled(first, "none");
    const second = await claimAgain(first);
    expect(second).toMatchObject({ attempt: 1, turn: 1 });
    expect(second.is_isolated).toBeUndefined();
    expect(reasonIn(second)).toEqual(["The worker became unresponsive and was restarted."]);
  });

  test("is retried in isolation without losing an attempt if the cause is unknown", async () => {
    const first = await engine.claimed();
    await stalled(first, "possible");
    const second = await claimAgain(first);
    expect(second).toMatchObject({ attempt: 1, is_isolated: true });
    expect(reasonIn(second)[0]).toContain("retried in a process of its own");
  });

  test("is retried in isolation as a new attempt if its run is the cause, but only once", async () => {
    const first = await engine.claimed();
    await stalled(first, "certain");
    const second = await claimAgain(first);
    expect(second).toMatchObject({ attempt: 2, is_isolated: true });
    expect(reasonIn(second)[0]).toContain("The run made its worker unresponsive.");

    await stalled(second, "certain");
    const run = await findRun(engine.db, first.run_id);
    expect(run).toMatchObject({
      state: "FAILED",
      attempts: 2,
      status_message: { error_code: "internal_error" },
    });
    expect(run?.status_message?.message).toContain("made its worker unresponsive twice");
  });

  test("changes nothing if it has lost its lease", async () => {
    const first = await engine.claimed();
    await stalled(first, "none");
    const second = await claimAgain(first);
    await stalled(first, "certain");
    expect(await claimAgain(first)).toBeUndefined();
    expect(await succeed(second)).toMatchObject({ ended: true });
  });
});

describe("a run", () => {
  test("that is interrupted three times in a turn is isolated too", async () => {
    const executions = [await engine.claimed()];
    for (let count = 1; count <= 3; count++) {
      await stalled(executions.at(-1) as Assignment, "none");
      executions.push(await claimAgain(executions[0] as Assignment));
    }
    expect(executions.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
    expect(executions.map(({ is_isolated = false }) => is_isolated)).toEqual([false, false, false, true]);
  });

  test("stays isolated after a failure and stops being isolated after a success", async () => {
    const first = await engine.claimed();
    await stalled(first, "certain");
    await stalled(await claimAgain(first), "certain");
    const followUp = () =>
      engine.tx((tx) => sendFollowup(tx, engine.admin, first.run_id, { message: "Go on." }));
    await followUp();
    const second = await claimAgain(first);
    expect(second).toMatchObject({ turn: 2, is_isolated: true });
    await succeed(second);
    await followUp();
    expect((await claimAgain(first)).is_isolated).toBeUndefined();
  });
});
