import { describe, expect, test } from "vitest";
import { Concurrency } from "../src/engine/limits.ts";

describe("what a run waits for", () => {
  const run = { owner_uid: "ann", key_id: "k1", environment_id: "env" };
  const limits = [
    { kind: "agent" as const, id: "bot", max: 2 },
    { kind: "key" as const, id: "k1", max: 1 },
    { kind: "environment" as const, id: "env", max: 1 },
  ];

  test("is nothing where no limit is reached, or none stands", () => {
    const busy = [{ owner_uid: "bot", key_id: "k9", environment_id: null, count: 1 }];
    expect(new Concurrency({ limits, busy, total: 2 }).heldBackBy(run)).toBeUndefined();
    expect(new Concurrency({ limits: [], busy }).heldBackBy(run)).toBeUndefined();
  });

  test("is the limit of what it has in common with those at work", () => {
    const none = { owner_uid: "other", key_id: "k9", environment_id: null };
    const heldBackBy = (busy: object, whom: object = {}) =>
      new Concurrency({ limits, busy: [{ ...none, ...busy, count: 2 }] }).heldBackBy({ ...run, ...whom });
    expect(heldBackBy({ key_id: "k1" })).toBe("key k1");
    expect(heldBackBy({ environment_id: "env" })).toBe("environment env");
    expect(heldBackBy({ environment_id: "env" }, { environment_id: null })).toBeUndefined();
    expect(heldBackBy({ owner_uid: "bot" }, { owner_uid: "bot" })).toBe("agent bot");
  });

  test("is the installation before anything else, and counts all of it", () => {
    const busy = [
      { ...run, count: 1 },
      { owner_uid: "other", key_id: "k9", environment_id: null, count: 1 },
    ];
    expect(new Concurrency({ limits, busy, total: 2 }).heldBackBy(run)).toBe("installation");
  });
});
