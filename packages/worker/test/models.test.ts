import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type StubModel, startStubModel } from "../../agent/test/stub-model/server.ts";
import { startWorld, type World } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: World;
let stub: StubModel;
const folder = mkdtempSync(join(tmpdir(), "outrider-models-"));
const path = join(folder, "models.json");
const key = "sk-of-the-stub-0123456789";

const configure = (providers: object, more: object = {}) =>
  writeFileSync(path, JSON.stringify({ providers, ...more }));
const prices = { input_usd_per_mtok: 10, output_usd_per_mtok: 50 };

beforeAll(async () => {
  stub = await startStubModel({ apiKey: key });
  const gate = { base_url: stub.baseUrl("anthropic"), api_key: key, models: { priced: { prices } } };
  configure({ anthropic: gate }, { aliases: { usual: "anthropic/priced" }, default_model_id: "usual" });
  world = await startWorld({ OUTRIDER_MODELS: path });
});
afterAll(async () => {
  await world.stop();
  await stub.close();
  rmSync(folder, { recursive: true });
});

test("a run is worked by the model that its operator configured, at its price", async () => {
  const worker = await world.worker();
  const run = await world.create(["RUN: echo made by the model > file; cat file", "SAY: done"]);
  const item = await world.until(run, "SUCCEEDED");
  expect(item).toMatchObject({
    agent_config: { model_id: "anthropic/priced" },
    receipt: { model_id: "anthropic/priced" },
  });
  expect(stub.requests.at(-1)).toMatchObject({
    dialect: "anthropic",
    headers: { "x-api-key": key },
    body: { model: "priced" },
  });
  expect(item.usage.cost_usd).toBeGreaterThan(0);
  await worker.drain();
});

test("a run whose model is not configured any more fails and says so, also in a later turn", async () => {
  const worker = await world.worker();
  const run = await world.create(["SAY: first"]);
  await world.until(run, "SUCCEEDED");
  configure({ anthropic: { api_key: "" } });
  await world.restart();
  await world.followUp(run, ["SAY: second"]);
  const item = await world.until(run, "FAILED");
  expect(item.status_message).toMatchObject({
    error_code: "model_not_available",
    message: expect.stringMatching(/^anthropic\/priced cannot be used any more: no key/),
  });
  await worker.drain();
});
