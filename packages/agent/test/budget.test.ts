import type { EventData } from "@outrider/contract/event";
import { describe, expect, it } from "vitest";
import { call, finish, runWithModel, words } from "./answers.ts";
import { newRun } from "./run.ts";

const prices = {
  input_usd_per_mtok: 10,
  cached_input_usd_per_mtok: 1,
  cache_write_usd_per_mtok: 12.5,
  output_usd_per_mtok: 50,
};

describe("the cost of a call", () => {
  it.each([
    ["plain input", { input: 1_000, output: 0 }, 0.01],
    ["output", { input: 0, output: 1_000 }, 0.05],
    ["input read from a cache", { input: 1_000, cacheRead: 800, output: 0 }, 0.0028],
    ["input put into a cache", { input: 1_000, cacheWrite: 400, output: 0 }, 0.011],
    ["all of them", { input: 1_000, cacheRead: 500, cacheWrite: 400, output: 100 }, 0.0115],
  ])("counts %s at its own price", async (_, tokens, cost) => {
    const run = await runWithModel(() => [...words("Yes."), finish(tokens)]);
    await run.turn({ prices });
    expect(run.all("usage.updated")[0]?.cost_usd).toBeCloseTo(cost, 10);
  });

  it("prices cached input as plain input if it has no price", async () => {
    const run = await runWithModel(() => [
      ...words("Yes."),
      finish({ input: 1_000, cacheRead: 800, cacheWrite: 100, output: 0 }),
    ]);
    await run.turn({ prices: { input_usd_per_mtok: 10, output_usd_per_mtok: 50 } });
    expect(run.all("usage.updated")[0]).toMatchObject({ cost_usd: 0.01, cached_input_tokens: 800 });
  });

  it("is estimated for a call that a message interrupts", async () => {
    const run = await newRun("SAY: begun", "SLEEP: 60000");
    const turn = run.turn({ prices, instructions: "Go. ".repeat(1_000) });
    while (run.said === "") await new Promise((resolve) => setTimeout(resolve, 2));
    run.send("SAY: you came", "interrupt");
    await run.seen(({ type }) => type === "usage.updated");
    const [interrupted] = run.all("usage.updated");
    expect(interrupted).toMatchObject({ steps: 1, output_tokens: 2 });
    expect(interrupted?.input_tokens).toBeGreaterThan(1_000);
    expect(interrupted?.cost_usd).toBeGreaterThan(0.01);
    run.cancel.abort();
    await turn;
  });

  it("is zero for a failed call", async () => {
    const run = await runWithModel(() => new Error("The provider is on fire."));
    await run.turn({ prices });
    expect(run.all("usage.updated")).toMatchObject([{ steps: 1, cost_usd: 0, input_tokens: 0 }]);
  });
});

/** A run that would go on for ever, each call of it taking this. */
const endless = (tokens: { input: number; output: number }) =>
  runWithModel(({ toolChoice }) => {
    const answer =
      toolChoice?.type === "none" ? words("I stop.") : [call("run_command", { command: "true" })];
    return [...answer, finish(tokens)];
  });

describe("at its cost limit a turn", () => {
  it("wraps up while it can still afford the final message", async () => {
    const run = await endless({ input: 1_000, output: 10 });
    const max_cost_usd = 0.1;
    const end = await run.turn({ prices, limits: { max_steps: 50, max_cost_usd } });
    expect(end).toMatchObject({ type: "failed", error_code: "budget_exceeded" });
    expect(run.all("notice").at(-1)?.code).toBe("budget_exceeded");
    expect(run.types.at(-1)).toBe("message.agent");
    const cost = run.all("usage.updated").at(-1)?.cost_usd ?? 0;
    expect(cost).toBeGreaterThan(0.08);
    expect(cost).toBeLessThan(max_cost_usd + 0.0105);
  });

  it.each([
    ["grow suddenly", { input: 10_000, output: 10 }],
    ["answer at length", { input: 100, output: 9_000 }],
  ])("starts no call once the budget is spent, even if its calls %s", async (_, large) => {
    const max_cost_usd = 0.05;
    let costs = 0;
    const run = await runWithModel((_options, number) => [
      call("run_command", { command: "true" }),
      finish(number < 4 ? { input: 100, output: 1 } : large),
    ]);
    const end = await run.turn({
      prices,
      limits: { max_steps: 50, max_cost_usd },
      emit: async (event) => {
        if (event.type === "usage.updated") {
          // What was spent before the last call was below the limit.
          expect(costs).toBeLessThan(max_cost_usd);
          costs = event.data.cost_usd;
        }
        run.write(event);
        return event;
      },
    });
    expect(end).toMatchObject({ type: "failed", error_code: "budget_exceeded" });
    expect(run.all("usage.updated").length).toBeLessThanOrEqual(5);
  });

  it("fails without any call if the first call would exceed the limit", async () => {
    const run = await endless({ input: 1_000, output: 10 });
    const limits = { max_steps: 50, max_cost_usd: 0.0001 };
    const end = await run.turn({ prices, limits, instructions: "Go. ".repeat(1_000) });
    expect(end).toMatchObject({ error_code: "budget_exceeded" });
    expect(run.all("command.started")).toEqual([]);
    expect(run.prompts).toHaveLength(1);
  });

  it("counts earlier attempts but not earlier turns", async () => {
    const run = await runWithModel((_options, number) =>
      number % 2 === 1
        ? [call("run_command", { command: "true" }), finish({ input: 3_000, output: 0 })]
        : [...words("Done."), finish({ input: 3_000, output: 0 })],
    );
    const limits = { max_steps: 50, max_cost_usd: 0.12 };
    expect(await run.turn({ prices, limits })).toMatchObject({ type: "succeeded" });
    run.write({ type: "run.succeeded", data: { text: "Done." } });
    run.reopen("Again.");
    expect(await run.turn({ prices, limits })).toMatchObject({ type: "succeeded" });
    expect(run.all("usage.updated").at(-1)?.cost_usd).toBeCloseTo(0.12, 10);

    run.log.length = run.types.lastIndexOf("usage.updated");
    run.write({
      type: "usage.updated",
      data: { ...(run.all("usage.updated").at(-1) as EventData<"usage.updated">), cost_usd: 0.17 },
    });
    run.recover();
    expect(await run.turn({ prices, limits })).toMatchObject({ error_code: "budget_exceeded" });
  });

  it("has no limit if the model has no price", async () => {
    const run = await newRun("RUN: true", "SAY: done");
    const end = await run.turn({ limits: { max_steps: 50, max_cost_usd: 0.0001 } });
    expect(end).toEqual({ type: "succeeded", text: "done" });
  });
});

describe("a shared budget", () => {
  it("is reserved before each call and settled after it", async () => {
    const run = await endless({ input: 1_000, output: 100 });
    const said: string[] = [];
    const budget = {
      reserve: async (usd: number, cost: number) => {
        // Of the input at least its price for a cache, and of the output what is usual.
        expect(usd).toBeGreaterThan(4_096 * 50e-6);
        said.push(`reserve at ${cost.toFixed(3)}`);
        return said.length > 5
          ? "Nothing is left today."
          : { settle: (cost: number) => said.push(`settle at ${cost.toFixed(3)}`) };
      },
    };
    const end = await run.turn({ prices, budget });
    expect(end).toEqual({
      type: "failed",
      error_code: "budget_exceeded",
      message: "Nothing is left today.",
    });
    const costs = ["0.000", "0.015", "0.030", "0.045"];
    const expected = costs.flatMap((cost, index) => [
      ...(index > 0 ? [`settle at ${cost}`] : []),
      `reserve at ${cost}`,
    ]);
    expect(said).toEqual(expected.slice(0, said.length));
    expect(run.all("usage.updated")).toHaveLength(3);
  });

  it("is not used if the model has no price", async () => {
    const run = await runWithModel(() => [...words("Yes."), finish({ input: 1, output: 1 })]);
    const budget = { reserve: async () => "Nothing is left today." };
    expect(await run.turn({ budget })).toMatchObject({ type: "succeeded" });
  });
});
