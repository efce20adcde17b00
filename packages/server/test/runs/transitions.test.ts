import { type RunState, transitions } from "@outrider/contract/run";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  changeState,
  lockRunState,
  type RunStateRow,
  type StateChange,
} from "../../src/store/runs/run-state.ts";
import { logOf, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

const states = Object.keys(transitions) as RunState[];
const targets = states.filter((state) => state !== "INPROGRESS") as StateChange["to"][];

test.each(states)("a run leaves %s only for the states that follow it", async (from) => {
  for (const to of targets) {
    const { run_id } = await engine.claimed();
    await engine.db`update run_state set state = ${from} where run_id = ${run_id}`;
    const before = await engine.tx((tx) => lockRunState(tx, run_id));
    const event = { type: "run.succeeded" as const, data: { text: "done" } };
    const changed = await engine.tx((tx) =>
      changeState(tx, before as RunStateRow, { to, phase: "done", event }),
    );
    expect([to, changed]).toEqual([to, (transitions[from] as readonly RunState[]).includes(to)]);
    const after = await engine.tx((tx) => lockRunState(tx, run_id));
    if (changed) expect(after).toMatchObject({ state: to, execution_id: null, last_seq: 3 });
    else expect(after).toEqual(before);
    expect(await logOf(engine.db, run_id)).toHaveLength(changed ? 3 : 2);
  }
});
