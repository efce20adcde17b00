import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type DialectName, type StubModel, startStubModel } from "../../../agent/test/stub-model/server.ts";
import { type TwoServers, twoServers } from "../second-server.ts";
import { type TestServer, testServer } from "../server.ts";

const key = "sk-of-the-stub-0123456789";

describe("stored model providers", () => {
  let servers: TwoServers;
  let server: TestServer;
  let stub: StubModel;
  let member: string;
  beforeAll(async () => {
    stub = await startStubModel({ apiKey: key, models: ["tiny", "other"] });
    servers = await twoServers();
    server = servers.first;
    member = await server.user("member@x.test");
  });
  afterAll(async () => {
    await servers.stop();
    await stub.close();
  });

  const put = (name: string, body: object) => server.call("PUT", `/agent/model-providers/${name}`, { body });
  const chat = (more: object = {}) => ({
    type: "openai-compatible",
    base_url: stub.baseUrl("chat"),
    models: [{ id: "tiny", context_tokens: 8_192 }],
    api_key: key,
    ...more,
  });
  const testCall = async (name: string, model?: string) =>
    (await server.call("POST", `/agent/model-providers/${name}/test`, { body: model ? { model } : {} })).body;

  test("take effect on all servers without a restart", async () => {
    const before = (await server.call("GET", "/agent/models")).body;
    expect(before.default_model_id).toBe("scripted");
    const stored = await put("house", chat());
    expect(stored.body).toMatchObject({ name: "house", source: "stored", has_key: true, available: true });
    expect((await server.call("GET", "/agent/models")).body.default_model_id).toBe("house/tiny");
    const [, second] = servers.bases;
    await vi.waitUntil(async () => {
      const { body } = await server.call("GET", `${second}/agent/models`);
      return body.default_model_id === "house/tiny";
    }, waitOptions);
    const run = { prompt: "SAY: hi", config: { model_id: "house/tiny" } };
    expect((await server.call("POST", `${second}/agent/run`, { body: run })).status).toBe(200);
  });

  test("never show their key", async () => {
    await put("sealed", chat());
    const list = await server.call("GET", "/agent/model-providers");
    const get = await server.call("GET", "/agent/model-providers/sealed");
    expect(list.text + get.text).not.toContain(key);
    const rows = await server.db`select * from model_keys where provider = 'sealed'`;
    expect(rows[0]?.sealed.includes(key)).toBe(false);
    // Replacing other settings keeps the key, and `null` removes it.
    const { api_key: _, ...settings } = chat();
    expect((await put("sealed", settings)).body.has_key).toBe(true);
    expect((await put("sealed", { ...settings, api_key: null })).body.has_key).toBe(false);
  });

  test("need the key again for another address, so that it cannot be sent there", async () => {
    await put("moved", chat());
    const { api_key: _, ...settings } = chat({ base_url: "http://127.0.0.1:1/v1" });
    const refused = await put("moved", settings);
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0]).toMatchObject({ pointer: "/api_key", message: /required again/ });
  });

  test.each([
    ["anthropic", "anthropic"],
    ["openai", "responses"],
    ["google", "gemini"],
    ["openai-compatible", "chat"],
  ] as [string, DialectName][])("are tested with a real call: %s", async (type, dialect) => {
    const name = `call-${dialect}`;
    const body = { type, base_url: stub.baseUrl(dialect), api_key: key, models: [{ id: "tiny" }] };
    expect((await put(name, body)).status).toBe(200);
    const result = await testCall(name);
    expect(result).toMatchObject({
      ok: true,
      model_id: `${name}/tiny`,
      latency_ms: expect.any(Number),
      response: expect.any(String),
      input_tokens: expect.any(Number),
    });
    expect(stub.last).toMatchObject({ dialect, parsed: { model: "tiny" } });
    const { last_test } = (await server.call("GET", `/agent/model-providers/${name}`)).body;
    expect(last_test).toEqual(result);
  });

  test("explain a wrong key without showing it", async () => {
    const wrong = "sk-wrong-key-0123456789";
    await put("wrong", chat({ api_key: wrong }));
    const result = await testCall("wrong");
    expect(result).toMatchObject({
      ok: false,
      message: /rejected the API key/,
      remedy: /Copy the key again/,
    });
    expect(JSON.stringify(result)).not.toContain(wrong);
  });

  test.each([
    [{ type: "status", status: 429, message: "slow down" }, /limits requests/],
    [{ type: "status", status: 402, message: "pay" }, /no quota left/],
    [{ type: "status", status: 503, message: "overloaded" }, /problem of its own/],
  ] as const)("explain the provider's error %j", async (fault, message) => {
    await put("faulty", chat());
    stub.fail({ ...fault });
    expect(await testCall("faulty")).toMatchObject({ ok: false, message, remedy: expect.any(String) });
  });

  test("explain an unknown model and an address that nobody answers", async () => {
    await put("unknown", chat());
    expect(await testCall("unknown", "missing")).toMatchObject({
      ok: false,
      message: /does not know this model/,
    });
    await put("closed", chat({ base_url: "http://127.0.0.1:1/v1" }));
    expect(await testCall("closed")).toMatchObject({ ok: false, message: /refused the connection/ });
  });

  test("cannot have a private address, unless the operator allows it", async () => {
    for (const base_url of ["http://10.0.0.1/v1", "https://169.254.169.254/v1", "http://example.com/v1"]) {
      const refused = await put("inside", chat({ base_url }));
      expect(refused.body.errors?.[0], base_url).toMatchObject({
        pointer: "/base_url",
        message: /OUTRIDER_ALLOW_ADDRESSES/,
      });
    }
  });

  test.each([
    [{ type: "openai-compatible" }, "/base_url"],
    [{ type: "amazon-bedrock" }, "/region"],
    [{ type: "google-vertex", project: "p", location: "eu", api_key: "x" }, "/api_key"],
    [
      {
        type: "google-vertex",
        project: "p",
        location: "eu",
        api_key: '{"client_email":"a","private_key":"b"}',
      },
      "/api_key",
    ],
    [{ type: "azure" }, "/resource_name"],
    [{ type: "anthropic", region: "eu" }, "/region"],
    [{ type: "anthropic", api_key: "two words" }, "/api_key"],
  ])("reject %j", async (body, pointer) => {
    const { status, body: problem } = await put("mine", body);
    expect(status).toBe(400);
    expect(problem.errors[0].pointer).toBe(pointer);
  });

  test("can be the default and have aliases, which keep them from being deleted", async () => {
    await put("kept", chat());
    const set = (body: object) => server.call("PUT", "/agent/model-settings", { body });
    const wrong = await set({ default_model_id: "nobody/x" });
    expect(wrong.body.errors[0].pointer).toBe("/default_model_id");
    const { body } = await set({ default_model_id: "usual", aliases: { usual: "kept/tiny" } });
    expect(body).toMatchObject({
      effective_default_model_id: "usual",
      default_source: "stored",
      problems: [],
    });
    const refused = await server.call("DELETE", "/agent/model-providers/kept");
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain("The alias `usual`");
    await set({});
    expect((await server.call("DELETE", "/agent/model-providers/kept")).status).toBe(204);
    expect((await server.call("GET", "/agent/model-providers/kept")).status).toBe(404);
    expect(await server.db`select * from model_keys where provider = 'kept'`).toHaveLength(0);
  });

  test("can be read by members, without addresses, and changed only by admins", async () => {
    await put("seen", chat());
    const { body } = await server.call("GET", "/agent/model-providers", { key: member });
    const seen = body.providers.find(({ name }: { name: string }) => name === "seen");
    expect(seen).toMatchObject({ source: "stored", has_key: true });
    expect(seen).not.toHaveProperty("base_url");
    const refused = await server.call("DELETE", "/agent/model-providers/seen", { key: member });
    expect(refused.status).toBe(403);
  });
});

describe("providers from the models file and variables", () => {
  let server: TestServer;
  let folder: string;
  /** A proxy that refuses all connections. */
  let proxy: Server;
  let targets: (string | undefined)[];
  beforeAll(async () => {
    proxy = createServer()
      .on("connect", ({ url }, socket) => {
        targets.push(url);
        socket.end("HTTP/1.1 503 Unavailable\r\n\r\n");
      })
      .listen(0, "127.0.0.1");
    await once(proxy, "listening");
    folder = await mkdtemp(join(tmpdir(), "outrider-models-"));
    const file = join(folder, "models.json");
    const content = {
      aliases: { usual: "filed/one" },
      providers: {
        filed: { type: "openai-compatible", base_url: "http://127.0.0.1:1/v1", models: { one: {} } },
      },
    };
    writeFileSync(file, JSON.stringify(content));
    server = await testServer({
      OUTRIDER_MODELS: file,
      ANTHROPIC_API_KEY: "sk-from-a-variable",
      OUTRIDER_DEFAULT_MODEL: "filed/one",
      OUTRIDER_UPSTREAM_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    });
  });
  afterAll(async () => {
    await server.stop();
    proxy.close().closeAllConnections();
    await rm(folder, { recursive: true });
  });

  test("are shown with their source and cannot be changed through the API", async () => {
    const { body } = await server.call("GET", "/agent/model-providers");
    const sources = body.providers.map(({ name, source }: { name: string; source: string }) => [
      name,
      source,
    ]);
    expect(Object.fromEntries(sources)).toEqual({ anthropic: "variables", filed: "file" });
    for (const [name, place] of [
      ["anthropic", "an environment variable"],
      ["filed", "the models file"],
    ]) {
      const body = {
        type: name === "filed" ? "openai-compatible" : "anthropic",
        base_url: "https://example.com",
      };
      const refused = await server.call("PUT", `/agent/model-providers/${name}`, { body });
      expect(refused.status).toBe(409);
      expect(refused.body.detail).toContain(place);
      expect((await server.call("DELETE", `/agent/model-providers/${name}`)).status).toBe(409);
    }
  });

  test("take precedence over stored settings", async () => {
    const put = await server.call("PUT", "/agent/model-settings", {
      body: { default_model_id: "anthropic/claude-opus-5" },
    });
    expect(put.body).toMatchObject({
      effective_default_model_id: "filed/one",
      default_source: "variables",
      file_aliases: { usual: "filed/one" },
      problems: [expect.stringContaining("has no effect")],
    });
  });

  test("leave the built-in providers without a key open for a stored one", async () => {
    const body = { type: "openai", api_key: "sk-0123456789" };
    const stored = await server.call("PUT", "/agent/model-providers/openai", { body });
    expect(stored.body).toMatchObject({ source: "stored", available: true });
    expect((await server.call("DELETE", "/agent/model-providers/openai")).status).toBe(204);
    const { body: list } = await server.call("GET", "/agent/model-providers");
    expect(list.providers.map(({ name }: { name: string }) => name)).not.toContain("openai");
  });

  test.each([
    [{ type: "amazon-bedrock", region: "eu-west-1" }, "bedrock-runtime.eu-west-1.amazonaws.com:443"],
    [{ type: "azure", resource_name: "acme-ai" }, "acme-ai.openai.azure.com:443"],
    [{ type: "google-vertex", project: "acme", location: "eu" }, "oauth2.googleapis.com:443"],
  ])("leave stored ones the address of their cloud: %j", async (settings, target) => {
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 2_048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const account = JSON.stringify({ client_email: "agent@acme.iam.example", private_key: privateKey });
    const api_key = settings.type === "google-vertex" ? account : key;
    const body = { ...settings, api_key, models: [{ id: "tiny" }] };
    const path = `/agent/model-providers/${settings.type}`;
    expect((await server.call("PUT", path, { body })).status).toBe(200);
    targets = [];
    const { body: result } = await server.call("POST", `${path}/test`, { body: {} });
    expect(result).toMatchObject({ ok: false, remedy: expect.any(String) });
    expect(targets).toEqual([target]);
  });
});
