import { describe, expect, test } from "vitest";
import { Refusal, tooMany } from "../src/engine/refusal.ts";
import { Room } from "../src/engine/room.ts";

const own = () => tooMany("too much of yours", 5);
const all = () => new Refusal("resource_unavailable", "too much of all");

describe("room for ten, and for four of each", () => {
  const open = (waitMs: number) => new Room({ most: 10, mostEach: 4, waitMs }, { own, all });

  test("is given to who waits for it when others leave, each as far as their own goes", async () => {
    const room = open(10_000);
    const leave = await room.enter("one", 3);
    const entered: string[] = [];
    const second = room.enter("one", 2).then(() => entered.push("one"));
    await room.enter("two", 4).then(() => entered.push("two"));
    expect(entered).toEqual(["two"]);
    leave();
    await second;
    expect(entered).toEqual(["two", "one"]);
  });

  test("is given in the order in which they came: who needs little does not overtake who needs much", async () => {
    const room = open(10_000);
    const leaves = [await room.enter("one", 4), await room.enter("two", 4), await room.enter("three", 2)];
    const entered: string[] = [];
    const much = room.enter("four", 4).then(() => entered.push("much"));
    const little = room.enter("five", 1).then(() => entered.push("little"));
    leaves.pop()?.();
    await Promise.resolve();
    expect(entered).toEqual([]);
    leaves.pop()?.();
    await Promise.all([much, little]);
    expect(entered).toEqual(["much", "little"]);
  });

  test("is given back once, however often that is said", async () => {
    const room = open(30);
    await room.enter("one", 4);
    const leave = await room.enter("two", 2);
    await room.enter("three", 4);
    leave();
    leave();
    await room.enter("four", 2);
    await expect(room.enter("five", 2)).rejects.toThrow("too much of all");
  });

  test("is refused to who has waited in vain, and says whose doing it is", async () => {
    const room = open(30);
    await room.enter("one", 4);
    await expect(room.enter("one", 1)).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 5 });
    await room.enter("two", 4);
    const third = room.enter("three", 3);
    expect(room.standing).toEqual({ used: 8, waiting: 1, refused: 1 });
    await expect(third).rejects.toMatchObject({ code: "resource_unavailable" });
    expect(room.standing).toEqual({ used: 8, waiting: 0, refused: 2 });
  });

  test("is given back by work that fails", async () => {
    const room = open(30);
    for (let count = 0; count < 6; count++) {
      await expect(room.within("one", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    }
    expect(await room.within("one", async () => "yes")).toBe("yes");
  });
});
