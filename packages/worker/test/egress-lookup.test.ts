import { expect, test } from "vitest";
import { fairLookup, type Lookup } from "../src/egress/lookup.ts";
import { until } from "./sandbox-support.ts";

/** A resolver that answers when it is told to. */
function slowResolver() {
  const waiting: { name: string; answer(): void }[] = [];
  const order: string[] = [];
  const lookup: Lookup = (name) => {
    order.push(name);
    return new Promise((resolve) => waiting.push({ name, answer: () => resolve([`address of ${name}`]) }));
  };
  return { lookup, waiting, order };
}

test("the system's own names are found by default", async () => {
  expect(await fairLookup()("localhost")).toContain("127.0.0.1");
  await expect(fairLookup()("no-such-name.invalid")).rejects.toThrow();
});

test("one question is asked at a time, and who asks much lets others go between", async () => {
  const resolver = slowResolver();
  const greedy = fairLookup(resolver.lookup);
  const modest = fairLookup(resolver.lookup);
  const answers = [greedy("g1"), greedy("g2"), greedy("g3"), modest("m1")];
  for (let turn = 0; turn < 4; turn++) {
    await until(() => resolver.order.length === turn + 1);
    expect(resolver.waiting).toHaveLength(1);
    resolver.waiting.pop()?.answer();
  }
  expect(resolver.order).toEqual(["g1", "m1", "g2", "g3"]);
  expect((await Promise.all(answers)).flat()).toContain("address of m1");
});

test("a name that is being asked for is not asked for twice, and later anew", async () => {
  const resolver = slowResolver();
  const lookup = fairLookup(resolver.lookup);
  const both = [lookup("a"), lookup("a")];
  await until(() => resolver.waiting.length === 1);
  resolver.waiting.pop()?.answer();
  expect(await Promise.all(both)).toEqual([["address of a"], ["address of a"]]);
  void lookup("a");
  await until(() => resolver.order.length === 2);
  resolver.waiting.pop()?.answer();
});

test("a question that fails does not stop the next", async () => {
  const lookup = fairLookup(async (name) => {
    if (name === "bad") throw new Error("no such name");
    return ["1.1.1.1"];
  });
  const [bad, good] = await Promise.allSettled([lookup("bad"), lookup("good")]);
  expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
});
