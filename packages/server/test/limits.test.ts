import { describe, expect, test } from "vitest";
import { Concurrency, pick } from "../src/engine/limits.ts";
import type { Candidate } from "../src/store/leases.ts";

describe("who comes next", () => {
  const candidate = (run_id: string, more: Partial<Candidate> = {}): Candidate => ({
    ...{ run_id, owner_uid: "ann", key_id: "k1", environment_id: null, priority: 0 },
    queued_at: `2030-01-01T00:00:0${run_id.length}.000Z`,
    ...more,
  });
  const none = () => new Concurrency({ limits: [], busy: [] });
  const picked = (candidates: Candidate[], concurrency = none(), free = 10) =>
    pick(candidates, concurrency, free).map(({ run_id }) => run_id);

  test("is the higher priority, whoever is served and however old", () => {
    const busy = [{ owner_uid: "ann", key_id: "k1", environment_id: null, count: 5 }];
    const high = candidate("aaa", { priority: 1 });
    const concurrency = new Concurrency({ limits: [], busy });
    expect(picked([candidate("a", { owner_uid: "other" }), high], concurrency)).toEqual(["aaa", "a"]);
  });

  test("is who is served least, counting what is being handed out", () => {
    const anns = ["a", "aa", "aaa"].map((id) => candidate(id));
    const bobs = ["bbbb", "bbbbb"].map((id) => candidate(id, { owner_uid: "other" }));
    expect(picked([...anns, ...bobs])).toEqual(["a", "bbbb", "aa", "bbbbb", "aaa"]);
    const busy = [{ owner_uid: "ann", key_id: "k1", environment_id: null, count: 1 }];
    expect(picked([...anns, ...bobs], new Concurrency({ limits: [], busy }), 2)).toEqual(["bbbb", "a"]);
  });

  test("is the oldest, and of one moment the first by id", () => {
    const at = "2030-01-01T00:00:00.000Z";
    const same = [candidate("d", { queued_at: at }), candidate("c", { queued_at: at })];
    expect(picked([candidate("bb"), candidate("e"), ...same])).toEqual(["c", "d", "e", "bb"]);
  });

  test("is nobody whom a limit holds back, and the next one instead", () => {
    const limits = [
      { kind: "key" as const, id: "k1", max: 1 },
      { kind: "environment" as const, id: "env", max: 1 },
      { kind: "agent" as const, id: "bot", max: 1 },
    ];
    const busy = [{ owner_uid: "bot", key_id: "k9", environment_id: "env", count: 1 }];
    const concurrency = new Concurrency({ limits, busy, total: 3 });
    expect((["key", "environment", "agent"] as const).map((kind) => concurrency.full(kind))).toEqual([
      [],
      ["env"],
      ["bot"],
    ]);
    const candidates = [
      candidate("a", { owner_uid: "bot", key_id: "k9" }),
      candidate("aa", { environment_id: "env" }),
      candidate("aaa"),
      candidate("aaaa"),
      candidate("b", { key_id: "k2", owner_uid: "other" }),
      candidate("bb", { key_id: "k2", owner_uid: "other" }),
    ];
    expect(picked(candidates, concurrency)).toEqual(["b", "aaa"]);
    expect(concurrency.full("key")).toEqual(["k1"]);
    expect(concurrency.heldBackBy(candidate("x", { key_id: "k3" }))).toBe("installation");
    expect(none().heldBackBy(candidate("x"))).toBeUndefined();
  });

  test("is no more than there is room for", () => {
    expect(picked([candidate("a"), candidate("aa")], none(), 1)).toEqual(["a"]);
    expect(picked([candidate("a")], none(), 0)).toEqual([]);
  });
});
