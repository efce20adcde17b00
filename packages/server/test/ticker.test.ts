import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startTicker } from "../src/ticker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("calls the task at each interval until it is stopped", async () => {
  const task = vi.fn();
  const ticker = startTicker({ everyMs: 100, task });
  expect(task).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(350);
  expect(task).toHaveBeenCalledTimes(3);
  await ticker.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  ticker.trigger();
  expect(task).toHaveBeenCalledTimes(3);
});

test("skips ticks while a call is running, and waits for that call when it stops", async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const ticker = startTicker({
    everyMs: 100,
    task() {
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toHaveLength(1);
  calls[0]?.resolve();
  await vi.advanceTimersByTimeAsync(100);
  expect(calls).toHaveLength(2);

  let isStopped = false;
  const stopped = ticker.stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isStopped).toBe(false);
  calls[1]?.resolve();
  await stopped;
  expect(calls).toHaveLength(2);
});

test("runs the task once more after the current call, however often it is triggered", async () => {
  const calls: PromiseWithResolvers<void>[] = [];
  const ticker = startTicker({
    everyMs: 1_000_000,
    task() {
      const call = Promise.withResolvers<void>();
      calls.push(call);
      return call.promise;
    },
  });
  for (let i = 0; i < 5; i++) ticker.trigger();
  expect(calls).toHaveLength(1);
  calls[0]?.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toHaveLength(2);
  calls[1]?.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(calls).toHaveLength(2);
  await ticker.stop();
});

test("reports errors and continues", async () => {
  const errors: unknown[] = [];
  const failures = [
    () => {
      throw new Error("thrown");
    },
    () => Promise.reject(new Error("rejected")),
  ];
  const ticker = startTicker({
    everyMs: 100,
    task: () => failures.shift()?.(),
    onError: (error) => errors.push(error),
  });
  await vi.advanceTimersByTimeAsync(500);
  expect(errors).toEqual([new Error("thrown"), new Error("rejected")]);
  expect(failures).toHaveLength(0);
  await ticker.stop();
});
