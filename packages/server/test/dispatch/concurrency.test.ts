import { describe, expect, test } from "vitest";
import { Concurrency } from "../../src/engine/dispatch/concurrency.ts";

describe("the limit that blocks a run", () => {
  const run = { owner_uid: "ann", key_id: "k1", environment_id: "env" };
  const limits = [
    { kind: "agent" as const, id: "bot", max: 2 },
    { kind: "key" as const, id: "k1", max: 1 },
    { kind: "environment" as const, id: "env", max: 1 },
  ];

  test("is undefined if no limit is reached or set", () => {
    const busy = [{ owner_uid: "bot", key_id: "k9", environment_id: null, count: 1 }];
    expect(new Concurrency({ limits, busy, total: 2 }).blockedBy(run)).toBeUndefined();
    expect(new Concurrency({ limits: [], busy }).blockedBy(run)).toBeUndefined();
  });

  test("is the reached limit that it shares with active runs", () => {
    const none = { owner_uid: "other", key_id: "k9", environment_id: null };
    const blockedBy = (busy: object, whom: object = {}) =>
      new Concurrency({ limits, busy: [{ ...none, ...busy, count: 2 }] }).blockedBy({ ...run, ...whom });
    expect(blockedBy({ key_id: "k1" })).toBe("key k1");
    expect(blockedBy({ environment_id: "env" })).toBe("environment env");
    expect(blockedBy({ environment_id: "env" }, { environment_id: null })).toBeUndefined();
    expect(blockedBy({ owner_uid: "bot" }, { owner_uid: "bot" })).toBe("agent bot");
  });

  test("is the installation's first, which counts all runs", () => {
    const busy = [
      { ...run, count: 1 },
      { owner_uid: "other", key_id: "k9", environment_id: null, count: 1 },
    ];
    expect(new Concurrency({ limits, busy, total: 2 }).blockedBy(run)).toBe("installation");
  });
});
