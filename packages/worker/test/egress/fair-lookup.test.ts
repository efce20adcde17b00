import { expect, test } from "vitest";
import { createFairLookup, type Lookup } from "../../src/egress/fair-lookup.ts";
import { until } from "../sandboxes/sandbox-support.ts";

/** Creates a resolver whose answers the test controls. */
function slowResolver() {
  const waiting: { name: string; answer(): void }[] = [];
  const order: string[] = [];
  const lookup: Lookup = (name) => {
    order.push(name);
    return new Promise((resolve) => waiting.push({ name, answer: () => resolve([`address of ${name}`]) }));
  };
  return { lookup, waiting, order };
}

test("uses the system's resolver by default", async () => {
  expect(await createFairLookup()("localhost")).toContain("127.0.0.1");
  await expect(createFairLookup()("no-such-name.invalid")).rejects.toThrow();
});

test("runs one lookup at a time and alternates between callers", async () => {
  const resolver = slowResolver();
  const busySandbox = createFairLookup(resolver.lookup);
  const otherSandbox = createFairLookup(resolver.lookup);
  const answers = [busySandbox("g1"), busySandbox("g2"), busySandbox("g3"), otherSandbox("m1")];
  for (let turn = 0; turn < 4; turn++) {
    await until(() => resolver.order.length === turn + 1);
    expect(resolver.waiting).toHaveLength(1);
    resolver.waiting.pop()?.answer();
  }
  expect(resolver.order).toEqual(["g1", "m1", "g2", "g3"]);
  expect((await Promise.all(answers)).flat()).toContain("address of m1");
});

test("shares a pending lookup and repeats a finished one", async () => {
  const resolver = slowResolver();
  const lookup = createFairLookup(resolver.lookup);
  const both = [lookup("a"), lookup("a")];
  await until(() => resolver.waiting.length === 1);
  resolver.waiting.pop()?.answer();
  expect(await Promise.all(both)).toEqual([["address of a"], ["address of a"]]);
  void lookup("a");
  await until(() => resolver.order.length === 2);
  resolver.waiting.pop()?.answer();
});

test("continues after a failed lookup", async () => {
  const lookup = createFairLookup(async (name) => {
    if (name === "bad") throw new Error("no such name");
    return ["1.1.1.1"];
  });
  const [bad, good] = await Promise.allSettled([lookup("bad"), lookup("good")]);
  expect([bad.status, good.status]).toEqual(["rejected", "fulfilled"]);
});
