import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Outrider, type RunItem } from "../packages/sdk/src/index.ts";
import { keyOf, makeDataDir, removeDataDir, root, run, type Serving, serve } from "./process.ts";
import { CONTEXT_TOKENS, type ModelServer, startModelServer } from "./small-model/model-server.ts";

/**
 * Runs with a real, small language model. It is too small to solve anything, and what it says differs from machine to
 * machine. Whatever it says, each run must end, within its limits, and say truthfully how.
 */

const MODEL = "small/smollm2";
const MAX_STEPS = 4;
const timeout = 1_200_000;

let model: ModelServer;
let server: Serving;
let client: Outrider;
const folder = mkdtempSync(join(tmpdir(), "outrider-small-model-"));
const models = join(folder, "models.json");
const dataDir = makeDataDir();

beforeAll(async () => {
  model = await startModelServer();
  const smollm2 = { context_tokens: CONTEXT_TOKENS, max_output_tokens: 256, supports_images: false };
  const small = { type: "openai-compatible", base_url: model.baseUrl, models: { smollm2 } };
  writeFileSync(models, JSON.stringify({ default_model_id: MODEL, providers: { small } }));
  server = await serve({ dataDir, environment: { OUTRIDER_MODELS: models } });
  client = new Outrider({ baseURL: `${server.origin}/api/v1`, apiKey: keyOf(dataDir) });
}, timeout);
afterAll(async () => {
  await server?.end("SIGTERM");
  await model?.[Symbol.asyncDispose]();
  removeDataDir(dataDir);
  rmSync(folder, { recursive: true });
}, timeout);

/** Reads how a run ended, and checks what must be true of every end. */
async function readEnd(runItem: RunItem) {
  const { run_id, state, status_message, usage, receipt } = runItem;
  const answers: string[] = [];
  for await (const event of client.events.list(run_id, { limit: 500 }))
    if (event.type === "message.agent") answers.push(event.data.text);
  const context = JSON.stringify({ state, status_message, answers });
  expect(["SUCCEEDED", "FAILED"], context).toContain(state);
  if (state === "FAILED")
    expect(status_message, context).toMatchObject({
      error_code: expect.any(String),
      message: expect.stringMatching(/\S/),
    });
  expect(receipt?.model_id).toBe(MODEL);
  expect(usage.steps, context).toBeGreaterThan(0);
  expect(usage.steps, context).toBeLessThanOrEqual(MAX_STEPS + 1); // The last one reports what was done.
  return { answers, context };
}

test("a run with a real small model ends with the model's own answer", { timeout }, async () => {
  const item = await client.runs.createAndWait({
    prompt: "What is the capital of France? Answer in one sentence.",
    limits: { max_steps: MAX_STEPS, timeout_minutes: 15 },
  });
  const { answers, context } = await readEnd(item);
  expect(item.usage.input_tokens, context).toBeGreaterThan(0);
  expect(item.usage.output_tokens, context).toBeGreaterThan(0);
  if (item.state === "SUCCEEDED") expect(answers.at(-1), context).toMatch(/\S/);
});

test("a run without the requested structured answer fails instead of inventing one", {
  timeout,
}, async () => {
  const item = await client.runs.createAndWait({
    prompt: "How many legs does a spider have?",
    output_schema: { type: "object", properties: { legs: { type: "integer" } }, required: ["legs"] },
    limits: { max_steps: MAX_STEPS, timeout_minutes: 15 },
  });
  const { context } = await readEnd(item);
  const answer = item.output as { legs: unknown } | undefined;
  if (item.state === "SUCCEEDED") expect(Number.isInteger(answer?.legs), context).toBe(true);
  else expect(answer, context).toBeUndefined();
});

test("an evaluation says why the model did not solve a task", { timeout }, async () => {
  const file = join(folder, "report.json");
  const running = run([
    ...["eval", "--suite", join(root, "eval/tasks"), "--tasks", "fix-mutable-default", "--model", MODEL],
    ...["--models", models, "--max-steps", String(MAX_STEPS), "--timeout", "15", "--json", file],
  ]);
  const { code } = await running.ended;
  expect(code, running.stderr()).toBe(0);
  const { results } = JSON.parse(readFileSync(file, "utf8"));
  expect(results).toHaveLength(1);
  const [result] = results;
  expect(result).toMatchObject({ model_id: MODEL, error: false });
  expect(result.output_tokens).toBeGreaterThan(0);
  if (!result.solved) expect(result.reason).toMatch(/\S/);
});
