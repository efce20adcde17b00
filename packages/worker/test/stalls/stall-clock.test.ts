import { describe, expect, test } from "vitest";
import { readMainThread } from "../../src/event-loop-watchdog/main-thread.ts";
import { StallClock } from "../../src/event-loop-watchdog/stall-clock.ts";

describe("ten ticks without a beat", () => {
  /** Returns the stalled time. Between ticks, `elapsedMs` pass, of which the main thread uses `usedMs`. */
  function measure({ isReady, usedMs, elapsedMs }: { isReady: boolean; usedMs: number; elapsedMs: number }) {
    const clock = new StallClock({ maxTickMs: 1_000 });
    let stalledMs = 0;
    for (let tick = 0; tick <= 10; tick++) {
      const mainThread = { isReady, usedMs: 7_000 + tick * usedMs };
      stalledMs = clock.update({ beat: 1, nowMs: 3_000 + tick * elapsedMs, mainThread });
    }
    return stalledMs;
  }

  test.each([
    { what: "of a busy thread count", isReady: true, usedMs: 500, elapsedMs: 500, expected: 5_000 },
    { what: "of a blocked thread count", isReady: false, usedMs: 0, elapsedMs: 500, expected: 5_000 },
    { what: "without processor time do not count", isReady: true, usedMs: 0, elapsedMs: 500, expected: 0 },
    { what: "count for the time used", isReady: true, usedMs: 20, elapsedMs: 500, expected: 200 },
    { what: "that are late count as two", isReady: false, usedMs: 0, elapsedMs: 60_000, expected: 10_000 },
  ])("$what", ({ expected, ...reading }) => {
    expect(measure(reading)).toBe(expected);
  });
});

test("a beat ends the stall", () => {
  const clock = new StallClock({ maxTickMs: 1_000 });
  const mainThread = undefined;
  for (const nowMs of [0, 500, 1_000]) clock.update({ beat: 1, nowMs, mainThread });
  expect(clock.update({ beat: 2, nowMs: 1_500, mainThread })).toBe(0);
  expect(clock.update({ beat: 2, nowMs: 2_000, mainThread })).toBe(500);
});

test.runIf(process.platform === "linux")("the main thread's processor time is read from the kernel", () => {
  const before = readMainThread();
  for (const { user } = process.cpuUsage(); process.cpuUsage().user - user < 100_000; );
  const after = readMainThread();
  expect(after?.isReady).toBe(true);
  expect((after?.usedMs ?? 0) - (before?.usedMs ?? 0)).toBeGreaterThanOrEqual(50);
});
