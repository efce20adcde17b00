import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Lease } from "../../src/run/lease.ts";

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
  return { lease: new Lease({ sentAt, durationMs, onExtended: (at) => deadlines.push(at) }), deadlines };
}

describe("a lease", () => {
  test("counts from when its request was sent, not from the response", () => {
    const sentAt = now();
    vi.advanceTimersByTime(400);
    const { lease: held, deadlines } = lease({ sentAt });
    expect(held.deadline).toBe(sentAt + ms(1_000));
    expect(deadlines).toEqual([sentAt + ms(1_000)]);
    vi.advanceTimersByTime(599);
    expect(held.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(held.signal.aborted).toBe(true);
    expect(held.signal.reason.message).toBe("The lease expired because the server could not be reached.");
  });

  test("stays valid while it is extended, and reports each deadline", () => {
    const { lease: held, deadlines } = lease();
    for (let round = 0; round < 5; round++) {
      vi.advanceTimersByTime(900);
      held.extend(now());
    }
    expect(held.signal.aborted).toBe(false);
    expect(deadlines).toHaveLength(6);
    expect(deadlines.at(-1)).toBe(held.deadline);
    expect(held.deadline).toBe(now() + ms(1_000));
    vi.advanceTimersByTime(1_000);
    expect(held.signal.aborted).toBe(true);
  });

  test("is lost if the response came too late", () => {
    const sentAt = now();
    vi.advanceTimersByTime(1_500);
    const { lease: held } = lease({ sentAt });
    vi.advanceTimersByTime(0);
    expect(held.signal.aborted).toBe(true);
  });

  test("stays lost once it is lost", () => {
    const { lease: held, deadlines } = lease();
    held.markLost("Another worker has it.");
    held.extend(now());
    expect(held.signal.reason.message).toBe("Another worker has it.");
    expect(deadlines).toHaveLength(1);
    held.markLost("A second reason.");
    expect(held.signal.reason.message).toBe("Another worker has it.");
  });

  test("never expires after it is released", () => {
    const { lease: held } = lease();
    held.release();
    vi.advanceTimersByTime(10_000);
    expect(held.signal.aborted).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});
