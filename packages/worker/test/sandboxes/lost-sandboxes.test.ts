import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LostSandboxes } from "../../src/sandboxes/lost-sandboxes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const roundMs = 5 * 60_000;

function start(removeFinished: () => Promise<void>) {
  const warn = vi.fn();
  const lostSandboxes = new LostSandboxes({ provider: { removeFinished }, log: { warn } });
  lostSandboxes.start();
  return { lostSandboxes, warn };
}

test("what lost workers left behind is removed periodically until the worker stops", async () => {
  const remove = vi.fn(async () => {});
  const { lostSandboxes } = start(remove);
  await vi.advanceTimersByTimeAsync(3 * roundMs);
  expect(remove).toHaveBeenCalledTimes(3);
  lostSandboxes.stop();
  await vi.advanceTimersByTimeAsync(3 * roundMs);
  expect(remove).toHaveBeenCalledTimes(3);
});

test("a slow round delays the next one, and none follows if the worker has stopped meanwhile", async () => {
  const round = Promise.withResolvers<void>();
  const remove = vi.fn(() => round.promise);
  const { lostSandboxes } = start(remove);
  await vi.advanceTimersByTimeAsync(3 * roundMs);
  expect(remove).toHaveBeenCalledTimes(1);
  lostSandboxes.stop();
  round.resolve();
  await vi.advanceTimersByTimeAsync(3 * roundMs);
  expect(remove).toHaveBeenCalledTimes(1);
});

test("each failure is logged once, also if it returns", async () => {
  const answers = ["away", "away", "forbidden", "", "forbidden"];
  const { warn, lostSandboxes } = start(async () => {
    const answer = answers.shift();
    if (answer) throw new Error(answer);
  });
  await vi.advanceTimersByTimeAsync(5 * roundMs);
  lostSandboxes.stop();
  expect(warn.mock.calls.map(([{ error }]) => error.message)).toEqual(["away", "forbidden", "forbidden"]);
});
