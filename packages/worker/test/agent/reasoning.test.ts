import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { longSleep, startTestInstallation, type TestInstallation, waitForSleep } from "../installation.ts";

/** Reasoning models whose providers reject a conversation without the reasoning of its tool calls. */

let installation: TestInstallation;
let stub: StubModel;
const folder = mkdtempSync(join(tmpdir(), "outrider-reasoning-"));

const modelIds = [
  "anthropic/claude-stub",
  "openai/gpt-5-stub",
  "google/gemini-3-stub",
  "house/deepseek-stub",
];

beforeAll(async () => {
  stub = await startStubModel({ reasoning: "require" });
  const models = Object.fromEntries(
    modelIds.map((id) => [id.split("/")[1] as string, { supports_reasoning_effort: true }]),
  );
  const api_key = "sk-of-the-reasoning-models";
  const providers = {
    anthropic: { base_url: stub.baseUrl("anthropic"), api_key, models },
    openai: { base_url: stub.baseUrl("responses"), api_key, models },
    google: { base_url: stub.baseUrl("gemini"), api_key, models },
    house: { type: "openai-compatible", base_url: stub.baseUrl("chat"), models },
  };
  const path = join(folder, "models.json");
  writeFileSync(path, JSON.stringify({ providers }));
  installation = await startTestInstallation({ OUTRIDER_MODELS: path });
});
afterAll(async () => {
  await installation.stop();
  await stub.close();
  rmSync(folder, { recursive: true });
});

test("another worker continues after kill -9 with reasoning that the provider accepts", async () => {
  const first = await installation.workerProcess("first");
  const sleeps = modelIds.map(() => longSleep());
  const runs = await Promise.all(
    modelIds.map((model_id, index) =>
      installation.create(
        [
          "THINK: First, I look.",
          "RUN: echo one",
          "THINK: Then I wait.",
          `RUN: ${sleeps[index]?.command}`,
          "THINK: Now I know.",
          "SAY: Done.",
        ],
        { config: { model_id, reasoning_effort: "high" } },
      ),
    ),
  );
  await Promise.all(sleeps.map(({ mark }) => waitForSleep(mark)));
  await first.end("SIGKILL");
  const requestsBefore = stub.requests.length;
  for (const run of runs) await installation.expireLease(run);

  await installation.worker();
  for (const run of runs) {
    const item = await installation.until(run, "SUCCEEDED");
    expect(item).toMatchObject({ attempts: 2, receipt: { reasoning_effort: "high" } });
    const events = await installation.events(run);
    expect(events.filter(({ type }) => type === "reasoning").map(({ data }) => data.text)).toEqual([
      "First, I look.",
      "Then I wait.",
      "Now I know.",
    ]);
    expect(JSON.stringify(events)).not.toMatch(/signature|encrypted/i);
    const stored = await installation.db`
      select private from events where run_id = ${run} and private is not null`;
    expect(stored.length).toBeGreaterThanOrEqual(2);
  }
  // Each run needs a single call after the restart, which is not rejected.
  expect(stub.requests.length - requestsBefore).toBe(runs.length);
});
