import { describe, it } from "vitest";
import { ask, assignedModel, providerApis, retryPolicy } from "../providers.ts";
import { startStubModel } from "../stub-model/server.ts";

describe.concurrent.each(providerApis)("timing through $name:", (api) => {
  it("429 is retried after the provider's delay", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail(
      { type: "status", status: 429, retryAfter: 1 },
      { type: "status", status: 429, retryAfterMs: 30 },
    );
    const { result, retries } = await ask(assignedModel(api, stub), "SAY: Yes.");
    expect(result).toMatchObject({ type: "response", text: "Yes." });
    expect(retries).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
    expect(retries[0]?.reason).toContain("429");
    expect(retries[0]?.delay_ms).toBeGreaterThanOrEqual(1_000);
    expect(retries[1]?.delay_ms).toBeLessThan(100);
  });

  it("a silent provider is retried", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "silence", where: "headers" }, { type: "silence", where: "text" });
    const { result, retries } = await ask(
      assignedModel(api, stub),
      "SAY: Words that come in several pieces.",
      {
        retryPolicy: { ...retryPolicy, firstMs: 2_000, idleMs: 1_500 },
      },
    );
    expect(result).toMatchObject({ type: "response", text: "Words that come in several pieces." });
    expect(retries).toHaveLength(2);
    for (const { reason } of retries) expect(reason).toContain("no data received");
  });

  it("a slow stream is not timed out", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "slow", ms: 300 });
    const { result, retries } = await ask(assignedModel(api, stub), `SAY: ${"slowly ".repeat(12)}`, {
      retryPolicy: { ...retryPolicy, firstMs: 2_500, idleMs: 2_000 },
    });
    expect(result).toMatchObject({ type: "response" });
    expect(retries).toEqual([]);
  });

  it("a silently reasoning model is not timed out", async ({ expect, onTestFinished }) => {
    const stub = await startStubModel();
    onTestFinished(() => stub.close());
    stub.fail({ type: "pause", where: "thinking", ms: 2_500, pingMs: 2_500 });
    const prompt = "THINK: This is long enough for several pieces, all of them thoughts.\nSAY: Yes.";
    const { result, retries } = await ask(assignedModel(api, stub), prompt, {
      retryPolicy: { ...retryPolicy, firstMs: 10_000, idleMs: 1_500 },
    });
    expect(result).toMatchObject({ type: "response", text: "Yes." });
    expect(retries).toEqual([]);
  });
});
