import { randomUUID } from "node:crypto";
import type { Assignment, FinishRequest, TurnOutcome } from "@outrider/contract/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish, report } from "../../src/engine/runs/executions.ts";
import { sendFollowup, withdrawFollowup } from "../../src/engine/runs/followups.ts";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { listFollowups } from "../../src/store/runs/followups.ts";
import { findRunState } from "../../src/store/runs/run-state.ts";
import {
  attempt,
  inOrder,
  isFull,
  logOf,
  newWorker,
  someUsage,
  type TestEngine,
  testEngine,
} from "../engine.ts";

const ROUNDS = isFull ? 1_000 : 100;
const FEWER = ROUNDS / 4;

let engine: TestEngine;
beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

interface Held {
  run_id: string;
  execution_id: string;
}

const succeeded: TurnOutcome = { type: "succeeded", text: "done" };
const succeed = ({ run_id, execution_id }: Held, more: Partial<FinishRequest> = {}) =>
  engine.tx((tx) =>
    finish(tx, execution_id, { run_id, batch: 1, events: [], usage: someUsage, outcome: succeeded, ...more }),
  );
const speak = ({ run_id, execution_id }: Held) => {
  const events = [{ type: "message.agent" as const, data: { text: "hi" } }];
  return engine.tx((tx) => report(tx, execution_id, { run_id, batch: 1, events, deliver: false }));
};
const cancel = ({ run_id }: Held) => engine.tx((tx) => cancelRun(tx, engine.admin, run_id));
const send = async (run_id: string, mode: "auto" | "queue" = "auto") =>
  (await engine.tx((tx) => sendFollowup(tx, engine.admin, run_id, { message: "and this", mode }))).sent;
const expire = ({ run_id }: Held) =>
  engine.db`update run_state set lease_expires_at = outrider_now() - interval '1 minute' where run_id = ${run_id}`;

const stateOf = async ({ run_id }: Held) => {
  const [row] = await engine.db<{ state: string }[]>`select state from runs where run_id = ${run_id}`;
  const runState = await findRunState(engine.db, run_id);
  expect(runState?.state).toBe(row?.state);
  return row?.state;
};
const log = ({ run_id }: Held) => logOf(engine.db, run_id);
const deliveries = async ({ run_id }: Held) =>
  (await listFollowups(engine.db, run_id)).map(({ delivery, seq }) => [delivery, seq]);
/** Ends the last turn, so that no run is left for the next round. */
const settle = async (run: Held) => attempt(() => cancel(run));

const begun = ["run.created 1.0", "run.claimed 1.1"];
const refused = { refused: "conflict" };

async function rounds(round: (run: Held, number: number) => Promise<void>, count = ROUNDS) {
  for (let number = 0; number < count; number++) {
    const run = await engine.claimed();
    await round(run, number);
    await settle(run);
  }
}

describe("a cancel racing the end of a turn", () => {
  async function expectCancelled(run: Held, end: unknown) {
    expect(end).toEqual(refused);
    expect(await stateOf(run)).toBe("CANCELLED");
    expect(await log(run)).toEqual([...begun, "run.cancelled 1.1"]);
  }
  async function expectSucceeded(run: Held, end: unknown) {
    expect(end).toEqual({ answer: { ended: true, followups: [] } });
    expect(await stateOf(run)).toBe("SUCCEEDED");
    expect(await log(run)).toEqual([...begun, "run.succeeded 1.1"]);
  }

  test("wins when it comes first, and the end is rejected", () =>
    rounds(async (run) => {
      const [cancelled, end] = await inOrder(engine.db, run.run_id, [() => cancel(run), () => succeed(run)]);
      expect(cancelled).toMatchObject({ answer: { state: "INPROGRESS" } });
      await expectCancelled(run, end);
    }));

  test("is rejected when it comes second", () =>
    rounds(async (run) => {
      const [end, cancelled] = await inOrder(engine.db, run.run_id, [() => succeed(run), () => cancel(run)]);
      expect(cancelled).toEqual(refused);
      await expectSucceeded(run, end);
    }));

  test("has one winner in any order", () =>
    rounds(async (run, number) => {
      const racers = [() => attempt(() => cancel(run)), () => attempt(() => succeed(run))] as const;
      const [cancelled, end] = await together(racers, number);
      if ("answer" in cancelled) await expectCancelled(run, end);
      else await expectSucceeded(run, end);
    }));
});

describe("a follow-up racing the end of a turn", () => {
  async function expectDelivered(run: Held, end: unknown) {
    expect(end).toMatchObject({ answer: { ended: false, followups: [{ message: "and this", seq: 3 }] } });
    expect(await stateOf(run)).toBe("INPROGRESS");
    expect(await deliveries(run)).toEqual([["delivered", 3]]);
    expect(await succeed(run, { batch: 2 })).toEqual({ ended: true, followups: [] });
    expect(await log(run)).toEqual([...begun, "message.user 1.1", "run.succeeded 1.1"]);
  }
  async function expectNewTurn(run: Held, end: unknown) {
    expect(end).toEqual({ answer: { ended: true, followups: [] } });
    expect(await stateOf(run)).toBe("QUEUED");
    expect(await deliveries(run)).toEqual([["queued", undefined]]);
    expect(await engine.claim()).toMatchObject([{ run_id: run.run_id, turn: 2, attempt: 1 }]);
    const more = ["run.succeeded 1.1", "run.reopened 2.0", "run.claimed 2.1", "message.user 2.1"];
    expect(await log(run)).toEqual([...begun, ...more]);
    expect(await deliveries(run)).toEqual([["delivered", 6]]);
  }

  test("keeps the turn going when it comes first", () =>
    rounds(async (run, number) => {
      const mode = number % 2 ? "queue" : "auto";
      const racers: [() => ReturnType<typeof send>, () => ReturnType<typeof succeed>] = [
        () => send(run.run_id, mode),
        () => succeed(run),
      ];
      const [sent, end] = await inOrder(engine.db, run.run_id, racers);
      expect(sent).toMatchObject({ answer: { state: "INPROGRESS", outcome: "live_session" } });
      await expectDelivered(run, end);
    }));

  test("starts a new turn when it comes second", () =>
    rounds(async (run) => {
      const [end, sent] = await inOrder(engine.db, run.run_id, [() => succeed(run), () => send(run.run_id)]);
      expect(sent).toMatchObject({ answer: { state: "QUEUED", outcome: "new_turn" } });
      await expectNewTurn(run, end);
    }));

  test("is never lost in any order", () =>
    rounds(async (run, number) => {
      const racers = [() => attempt(() => send(run.run_id)), () => attempt(() => succeed(run))] as const;
      const [sent, end] = await together(racers, number);
      const outcome = "answer" in sent ? sent.answer.outcome : undefined;
      if (outcome === "live_session") await expectDelivered(run, end);
      else await expectNewTurn(run, end);
    }));
});

describe("the loss of a lease racing a report", () => {
  async function expectRecovery(run: Held, said: unknown) {
    const wrote = typeof said === "object" && said !== null && "answer" in said;
    expect(said).toEqual(wrote ? { answer: { last_seq: 3, followups: [] } } : refused);
    expect(await stateOf(run)).toBe("INPROGRESS");
    const expected = [...begun, ...(wrote ? ["message.agent 1.1"] : []), "run.recovering 1.1"];
    expect(await log(run)).toEqual(expected);
    // From here on every write of the first execution is rejected.
    for (const late of [() => speak(run), () => succeed(run), () => succeed(run, { batch: 2 })]) {
      expect(await attempt<unknown>(late)).toEqual(refused);
    }
    expect(await log(run)).toEqual(expected);
    expect(await engine.claim()).toMatchObject([{ run_id: run.run_id, turn: 1, attempt: 2 }]);
  }

  test("rejects the report when the lease is lost first", () =>
    rounds(async (run) => {
      await expire(run);
      const [, said] = await inOrder(engine.db, run.run_id, [() => engine.reap(), () => speak(run)]);
      expect(said).toEqual(refused);
      await expectRecovery(run, said);
    }));

  test("keeps the report that came first", () =>
    rounds(async (run) => {
      await expire(run);
      const [said] = await inOrder(engine.db, run.run_id, [() => speak(run), () => engine.reap()]);
      expect(said).toHaveProperty("answer");
      await expectRecovery(run, said);
    }));

  test("either keeps or rejects it in any order", () =>
    rounds(async (run, number) => {
      await expire(run);
      const [, said] = await together(
        [() => engine.reap(), () => attempt(() => speak(run))] as const,
        number,
      );
      await expectRecovery(run, said);
    }));
});

describe("other writers on one run", () => {
  test("an end that is repeated during the first gets the same response", () =>
    rounds(async (run) => {
      const both = await inOrder(engine.db, run.run_id, [() => succeed(run), () => succeed(run)]);
      expect(both).toEqual([1, 2].map(() => ({ answer: { ended: true, followups: [] } })));
      expect(await log(run)).toEqual([...begun, "run.succeeded 1.1"]);
    }, FEWER));

  test("a report that is repeated during the first is written once", () =>
    rounds(async (run) => {
      const both = await inOrder(engine.db, run.run_id, [() => speak(run), () => speak(run)]);
      expect(both).toEqual([1, 2].map(() => ({ answer: { last_seq: 3, followups: [] } })));
      expect(await log(run)).toEqual([...begun, "message.agent 1.1"]);
    }, FEWER));

  test("neither a lost lease nor an end undoes the other", () =>
    rounds(async (run, number) => {
      await expire(run);
      if (number % 2) {
        const [end] = await inOrder(engine.db, run.run_id, [() => succeed(run), () => engine.reap()]);
        expect(end).toEqual({ answer: { ended: true, followups: [] } });
        expect(await log(run)).toEqual([...begun, "run.succeeded 1.1"]);
      } else {
        const [, end] = await inOrder(engine.db, run.run_id, [() => engine.reap(), () => succeed(run)]);
        expect(end).toEqual(refused);
        expect(await log(run)).toEqual([...begun, "run.recovering 1.1"]);
      }
    }, FEWER));

  test("two servers that see an expired lease revoke it once", () =>
    rounds(async (run) => {
      await expire(run);
      await inOrder(engine.db, run.run_id, [() => engine.reap(), () => engine.reap()]);
      expect(await log(run)).toEqual([...begun, "run.recovering 1.1"]);
    }, FEWER));

  test("a follow-up withdrawn in time does not delay the end; a late one is delivered", () =>
    rounds(async (run, number) => {
      const { followup_id } = await send(run.run_id);
      const address = { runId: run.run_id, followupId: followup_id };
      const withdraw = () => engine.tx((tx) => withdrawFollowup(tx, engine.admin, address));
      if (number % 2) {
        const [, end] = await inOrder(engine.db, run.run_id, [withdraw, () => succeed(run)]);
        expect(end).toEqual({ answer: { ended: true, followups: [] } });
        expect(await deliveries(run)).toEqual([["withdrawn", undefined]]);
      } else {
        const [end, late] = await inOrder(engine.db, run.run_id, [() => succeed(run), withdraw]);
        expect(end).toMatchObject({ answer: { ended: false, followups: [{ followup_id }] } });
        expect(late).toEqual(refused);
        expect(await deliveries(run)).toEqual([["delivered", 3]]);
      }
    }, FEWER));

  test("a follow-up sent during a claim is part of the claim", async () => {
    for (let number = 0; number < FEWER; number++) {
      const run_id = await engine.create();
      const [sent, claimed] = await inOrder(engine.db, run_id, [
        () => send(run_id, "queue"),
        () => engine.claim(),
      ]);
      expect(sent).toMatchObject({ answer: { outcome: "queued_prompt" } });
      expect(claimed).toMatchObject({ answer: [{ run_id }] });
      const run = { run_id, execution_id: "" };
      expect(await log(run)).toEqual([...begun, "message.user 1.1"]);
      await settle(run);
    }
  });

  test("a claim that is repeated during the first claims nothing more", async () => {
    for (let number = 0; number < FEWER; number++) {
      const runs = [await engine.create(), await engine.create(), await engine.create()];
      const request = { request_id: randomUUID(), worker: newWorker(), free: 2 };
      const [first, second] = await Promise.all([engine.claim(request), engine.claim(request)]);
      const tokens = (claimed: Assignment[]) => claimed.map(({ execution_id }) => execution_id).sort();
      expect(tokens(first)).toHaveLength(2);
      expect(tokens(second)).toEqual(tokens(first));
      for (const run_id of runs) await cancel({ run_id, execution_id: "" });
    }
  });

  test("a run that is cancelled during a claim is not assigned", async () => {
    for (let number = 0; number < FEWER; number++) {
      const run = { run_id: await engine.create(), execution_id: "" };
      const racers: [() => ReturnType<typeof cancel>, () => ReturnType<typeof engine.claim>] = [
        () => cancel(run),
        () => engine.claim({ worker: newWorker() }),
      ];
      const [, claimed] = await inOrder(engine.db, run.run_id, racers);
      expect(claimed).toEqual({ answer: [] });
      expect(await log(run)).toEqual(["run.created 1.0", "run.cancelled 1.0"]);
    }
  });
});

/** Runs both at once, in alternating order. */
async function together<A, B>(
  [a, b]: readonly [() => Promise<A>, () => Promise<B>],
  number: number,
): Promise<[A, B]> {
  if (number % 2 === 0) return Promise.all([a(), b()]);
  const [second, first] = await Promise.all([b(), a()]);
  return [first, second];
}
