import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Lease } from "../src/lease.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const now = () => process.hrtime.bigint();
const ms = (count: number) => BigInt(count) * 1_000_000n;

function lease({ sentAt = now(), durationMs = 1_000 } = {}) {
  const deadlines: bigint[] = [];
  return { lease: new Lease({ sentAt, durationMs, extended: (at) => deadlines.push(at) }), deadlines };
}

describe("a lease", () => {
  test("counts from when its request was sent, not from when the answer came", () => {
    const sentAt = now();
    vi.advanceTimersByTime(400);
    const { lease: held, deadlines } = lease({ sentAt });
    expect(held.until).toBe(sentAt + ms(1_000));
    expect(deadlines).toEqual([sentAt + ms(1_000)]);
    vi.advanceTimersByTime(599);
    expect(held.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(held.signal.aborted).toBe(true);
    expect(held.signal.reason.message).toBe("The server was not reached in time.");
  });

  test("goes on as long as it is extended, and says so", () => {
    const { lease: held, deadlines } = lease();
    for (let round = 0; round < 5; round++) {
      vi.advanceTimersByTime(900);
      held.extend(now());
    }
    expect(held.signal.aborted).toBe(false);
    expect(deadlines).toHaveLength(6);
    expect(deadlines.at(-1)).toBe(held.until);
    expect(held.until).toBe(now() + ms(1_000));
    vi.advanceTimersByTime(1_000);
    expect(held.signal.aborted).toBe(true);
  });

  test("whose answer came too late is lost", () => {
    const sentAt = now();
    vi.advanceTimersByTime(1_500);
    const { lease: held } = lease({ sentAt });
    vi.advanceTimersByTime(0);
    expect(held.signal.aborted).toBe(true);
  });

  test("that is lost stays lost", () => {
    const { lease: held, deadlines } = lease();
    held.lose("Somebody else has it.");
    held.extend(now());
    expect(held.signal.reason.message).toBe("Somebody else has it.");
    expect(deadlines).toHaveLength(1);
    held.lose("A second reason.");
    expect(held.signal.reason.message).toBe("Somebody else has it.");
  });

  test("that is released is never lost by time", () => {
    const { lease: held } = lease();
    held.release();
    vi.advanceTimersByTime(10_000);
    expect(held.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
