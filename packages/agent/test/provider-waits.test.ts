import { describe, it } from "vitest";
import { ask, patience, ways, workOf } from "./providers.ts";
import { startStubModel } from "./stub-model/server.ts";

describe.concurrent.each(ways)("through $name, as time goes by,", (way) => {
  it("429 is waited out as long as the provider asks", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail(
      { type: "status", status: 429, retryAfter: 1 },
      { type: "status", status: 429, retryAfterMs: 30 },
    );
    const began = performance.now();
    const { result, retries } = await ask(workOf(way, stub), "SAY: Yes.");
    expect(result).toMatchObject({ type: "answer", text: "Yes." });
    expect(performance.now() - began).toBeGreaterThan(1_000);
    expect(retries).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(retries[0]?.reason).toContain("429");
    expect(retries[0]?.delay_ms).toBeGreaterThanOrEqual(1_000);
    expect(retries[1]?.delay_ms).toBeLessThan(100);
  });

  it("a provider that falls silent is asked again", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "silence", where: "headers" }, { type: "silence", where: "text" });
    const { result, retries } = await ask(workOf(way, stub), "SAY: Words that come in several pieces.", {
      patience: { ...patience, firstMs: 2_000, idleMs: 1_500 },
    });
    expect(result).toMatchObject({ type: "answer", text: "Words that come in several pieces." });
    expect(retries).toHaveLength(2);
    for (const { reason } of retries) expect(reason).toContain("nothing came");
  });

  it("slow words are waited for", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "slow", ms: 300 });
    const { result, retries } = await ask(workOf(way, stub), `SAY: ${"slowly ".repeat(12)}`, {
      patience: { ...patience, firstMs: 2_500, idleMs: 2_000 },
    });
    expect(result).toMatchObject({ type: "answer" });
    expect(retries).toEqual([]);
  });

  it("a model that thinks in silence is given the time", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "pause", where: "thinking", ms: 2_500, pingMs: 2_500 });
    const prompt = "THINK: This is long enough for several pieces, all of them thoughts.\nSAY: Yes.";
    const { result, retries } = await ask(workOf(way, stub), prompt, {
      patience: { ...patience, firstMs: 10_000, idleMs: 1_500 },
    });
    expect(result).toMatchObject({ type: "answer", text: "Yes." });
    expect(retries).toEqual([]);
  });
});
