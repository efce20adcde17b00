import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { answers } from "../../../../e2e/hostile/models/answers.ts";
import { type HostileProviders, startHostileProviders } from "../../../../e2e/hostile/providers.ts";
import { openModel } from "../../src/models/open-model.ts";
import { newRun, type TestRun } from "../run.ts";

let providers: HostileProviders;
beforeAll(async () => {
  providers = await startHostileProviders();
});
afterAll(() => providers.stop());

async function runWith(name: keyof typeof answers): Promise<TestRun> {
  const run = await newRun("Do something.");
  run.model = await openModel({
    provider: "openai-compatible",
    ...{
      model_id: name,
      name,
      base_url: providers.modelUrl,
      context_tokens: 100_000,
      supports_images: false,
    },
  });
  return run;
}

describe("a hostile model provider", () => {
  it.each([
    ["a-million-choices", "has an event that contains more than 30000 values"],
    ["a-million-choices-after-a-carriage-return", "has an event that contains more than 30000 values"],
    ["40000-invalid-choices", "has an event that contains more than 30000 values"],
    ["line-without-end", "has an event of more than 16777216 bytes"],
    ["text-of-10-mb", "has more than 2000000 characters"],
    ["1000-tool-calls", "contains more than 200 tool calls"],
  ])("that sends %s fails the turn at once", async (name, problem) => {
    const run = await runWith(name);
    expect(await run.turn()).toEqual({
      type: "failed",
      error_code: "model_error",
      message: `The model provider sent a response that ${problem}.`,
    });
  });

  it.each([
    ["input-200-levels-deep", "The input is nested deeper than 40 levels."],
    ["input-200000-levels-deep", "The input is nested deeper than 40 levels."],
    ["input-with-50000-invalid-items", "The input contains more than 5000 values."],
  ])("that sends a call with %s receives an error and can continue", async (name, problem) => {
    const run = await runWith(name);
    expect(await run.turn()).toMatchObject({ type: "succeeded", text: "done" });
    const [called] = run.all("tool.called");
    expect(called).toMatchObject({ input: { unreadable: expect.any(String) } });
    expect(JSON.stringify(called).length).toBeLessThan(10_000);
    expect(run.all("tool.returned")).toMatchObject([
      { is_error: true, output: expect.stringMatching(`^${problem}`) },
    ]);
  });

  it("that reports impossible token counts cannot lower the usage or break the sum", async () => {
    const absurd = await runWith("absurd-usage");
    await absurd.turn();
    expect(absurd.all("usage.updated")).toMatchObject([{ input_tokens: 1e9, output_tokens: 1e9 }]);
    const negative = await runWith("negative-usage");
    await negative.turn();
    expect(negative.all("usage.updated")).toMatchObject([{ input_tokens: 0, output_tokens: 0 }]);
  });
});
