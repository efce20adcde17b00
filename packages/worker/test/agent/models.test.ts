import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  azure,
  bedrock,
  type CloudStub,
  startCloudStub,
  vertex,
} from "../../../agent/test/stub-model/cloud-server.ts";
import { type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { checkedSend } from "../../src/gateway/send-post.ts";
import { startTestInstallation, type TestInstallation } from "../installation.ts";

let installation: TestInstallation;
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
  installation = await startTestInstallation({ OUTRIDER_MODELS: path });
});
afterAll(async () => {
  await installation.stop();
  await stub.close();
  rmSync(folder, { recursive: true });
});

test("a run uses the configured model at its price", async () => {
  const worker = await installation.worker();
  const run = await installation.create(["RUN: echo made by the model > file; cat file", "SAY: done"]);
  const item = await installation.until(run, "SUCCEEDED");
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

test("a run whose request the provider rejects fails with an error that is not retryable", async () => {
  const worker = await installation.worker();
  stub.fail({ type: "status", status: 400, message: "temperature is not allowed" });
  const run = await installation.create(["SAY: never"]);
  const { status_message } = await installation.until(run, "FAILED");
  expect(status_message).toMatchObject({
    error_code: "model_request_rejected",
    retryable: false,
    message: expect.stringContaining("temperature is not allowed"),
    remedy: expect.any(String),
  });
  await worker.drain();
});

test("a run whose model is no longer configured fails with the reason, also in a later turn", async () => {
  const worker = await installation.worker();
  const run = await installation.create(["SAY: first"]);
  await installation.until(run, "SUCCEEDED");
  configure({ anthropic: { api_key: "" } });
  await installation.restart();
  await installation.followUp(run, ["SAY: second"]);
  const item = await installation.until(run, "FAILED");
  expect(item.status_message).toMatchObject({
    error_code: "model_not_available",
    message: expect.stringMatching(/^The model anthropic\/priced is no longer available: no key/),
  });
  await worker.drain();
});

test("a run calls a stored provider through checked connections", async () => {
  const body = { type: "openai-compatible", base_url: stub.baseUrl("chat"), api_key: key };
  expect((await installation.call("PUT", "/agent/model-providers/house", { body })).status).toBe(200);
  const worker = await installation.worker();
  const run = await installation.create(["SAY: through the checked connection"], {
    config: { model_id: "house/tiny" },
  });
  expect((await installation.until(run, "SUCCEEDED")).receipt).toMatchObject({ model_id: "house/tiny" });
  expect(stub.last).toMatchObject({ dialect: "chat", headers: { authorization: `Bearer ${key}` } });
  await worker.drain();
});

describe("stored providers of clouds", () => {
  let clouds: CloudStub;
  beforeAll(async () => {
    clouds = await startCloudStub();
  });
  afterAll(() => clouds.close());

  const { project, location } = vertex;
  const providers: Record<string, { model: string; settings(): object }> = {
    "amazon-bedrock": {
      model: bedrock.model,
      settings: () => ({ region: "eu-west-1", api_key: bedrock.apiKey, base_url: clouds.origin }),
    },
    "google-vertex": {
      model: vertex.model,
      settings: () => ({ project, location, api_key: clouds.serviceAccount, base_url: clouds.origin }),
    },
    azure: {
      model: azure.deployment,
      settings: () => ({ api_key: azure.apiKey, base_url: `${clouds.origin}/openai/v1` }),
    },
    "azure with the chat API": {
      model: azure.deployment,
      settings: () => ({ api: "chat", api_key: azure.apiKey, base_url: `${clouds.origin}/openai/v1` }),
    },
  };

  test.each(Object.keys(providers))("%s answers a test and a run", async (name) => {
    const { model, settings } = providers[name] as (typeof providers)[string];
    const [type] = name.split(" ");
    const address = "/agent/model-providers/cloud";
    const body = { type, models: [{ id: model }], ...settings() };
    expect((await installation.call("PUT", address, { body })).status).toBe(200);
    expect((await installation.call("POST", `${address}/test`, { body: {} })).body).toMatchObject({
      ...{ ok: true, model_id: `cloud/${model}`, response: "Hello back." },
      ...{ input_tokens: 3, output_tokens: 2 },
    });
    const worker = await installation.worker();
    const run = await installation.create(["SAY: hello"], { config: { model_id: `cloud/${model}` } });
    expect(await installation.until(run, "SUCCEEDED")).toMatchObject({
      receipt: { model_id: `cloud/${model}` },
      usage: { input_tokens: 3, output_tokens: 2 },
    });
    const [message] = (await installation.events(run)).filter((event) => event.type === "message.agent");
    expect(message?.data.text).toBe("Hello back.");

    // The stub refuses a wrong credential, as the service does, and neither the test nor the run shows it.
    const wrong = name === "google-vertex" ? await otherServiceAccount() : "wrong-key-0123456789";
    const changed = { ...body, api_key: wrong };
    expect((await installation.call("PUT", address, { body: changed })).status).toBe(200);
    const refused = (await installation.call("POST", `${address}/test`, { body: {} })).body;
    expect(refused).toMatchObject({ ok: false, remedy: expect.any(String) });
    const failing = await installation.create(["SAY: hello"], { config: { model_id: `cloud/${model}` } });
    const { status_message } = await installation.until(failing, "FAILED");
    expect(status_message.error_code).toMatch(/^model_/);
    expect(JSON.stringify([refused, await installation.events(failing)])).not.toMatch(
      /wrong-key|PRIVATE KEY/,
    );
    expect((await installation.call("DELETE", address)).status).toBe(204);
    await worker.drain();
  });

  /** Returns the key file of the same account with a key that the service does not know. */
  async function otherServiceAccount(): Promise<string> {
    const other = await startCloudStub();
    other.close();
    const { private_key } = JSON.parse(other.serviceAccount);
    return JSON.stringify({ ...JSON.parse(clouds.serviceAccount), private_key });
  }
});

test("a connection to a stored provider refuses private addresses", async () => {
  const count = stub.requests.length;
  const call = (address_policy: "public" | "public_or_loopback") =>
    checkedSend({
      ...{ model_id: "house/tiny", provider: "openai-compatible", name: "tiny", address_policy },
      ...{ context_tokens: 8_192, supports_images: false },
    })?.(`${stub.baseUrl("chat")}/chat/completions`, { method: "POST", body: "{}" });
  await expect(call("public")).rejects.toThrow("it resolves to a private, reserved or metadata address");
  expect(stub.requests).toHaveLength(count);
  expect((await call("public_or_loopback"))?.status).toBe(401);
});
