import { describe, expect, test } from "vitest";
import { ApiError, tooMany } from "../../src/engine/api-error.ts";
import { ConcurrencyLimiter } from "../../src/engine/limits/concurrency-limiter.ts";

const own = () => tooMany("too much of yours", 5);
const all = () => new ApiError("resource_unavailable", "too much of all");

describe("a limit of ten in total and four per caller", () => {
  const open = (waitMs: number) =>
    new ConcurrencyLimiter({ max: 10, maxPerCaller: 4, waitMs }, { perCaller: own, total: all });

  test("admits waiters on release, each up to the caller's own limit", async () => {
    const room = open(10_000);
    const leave = await room.acquire("one", 3);
    const entered: string[] = [];
    const second = room.acquire("one", 2).then(() => entered.push("one"));
    await room.acquire("two", 4).then(() => entered.push("two"));
    expect(entered).toEqual(["two"]);
    leave();
    await second;
    expect(entered).toEqual(["two", "one"]);
  });

  test("admits in order: a small request does not overtake a large one", async () => {
    const room = open(10_000);
    const leaves = [
      await room.acquire("one", 4),
      await room.acquire("two", 4),
      await room.acquire("three", 2),
    ];
    const entered: string[] = [];
    const much = room.acquire("four", 4).then(() => entered.push("much"));
    const little = room.acquire("five", 1).then(() => entered.push("little"));
    leaves.pop()?.();
    await Promise.resolve();
    expect(entered).toEqual([]);
    leaves.pop()?.();
    await Promise.all([much, little]);
    expect(entered).toEqual(["much", "little"]);
  });

  test("releases once, even if release is called repeatedly", async () => {
    const room = open(30);
    await room.acquire("one", 4);
    const leave = await room.acquire("two", 2);
    await room.acquire("three", 4);
    leave();
    leave();
    await room.acquire("four", 2);
    await expect(room.acquire("five", 2)).rejects.toThrow("too much of all");
  });

  test("rejects after the wait and says which limit is the reason", async () => {
    const room = open(30);
    await room.acquire("one", 4);
    await expect(room.acquire("one", 1)).rejects.toMatchObject({
      code: "rate_limited",
      retryAfterSeconds: 5,
    });
    await room.acquire("two", 4);
    const third = room.acquire("three", 3);
    expect(room.stats).toEqual({ used: 8, waiting: 1, rejected: 1 });
    await expect(third).rejects.toMatchObject({ code: "resource_unavailable" });
    expect(room.stats).toEqual({ used: 8, waiting: 0, rejected: 2 });
  });

  test("is released when the work fails", async () => {
    const room = open(30);
    for (let count = 0; count < 6; count++) {
      await expect(room.run("one", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    }
    expect(await room.run("one", async () => "yes")).toBe("yes");
  });
});
