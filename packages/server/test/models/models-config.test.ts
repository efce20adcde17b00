import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-models-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function write(content: unknown): string {
  const path = join(folder, `file-${++files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const read = (content: unknown, variables: Record<string, string> = {}) =>
  readConfig({}, { ...variables, OUTRIDER_MODELS: write(content) }).models();
const provider = (members: object) => ({ providers: { gate: { type: "openai", ...members } } });
const local = (members: object) => ({ providers: { local: { type: "openai-compatible", ...members } } });

describe("the model configuration file", () => {
  test("is found in the data folder, by the variable and by the flag", () => {
    const path = write({ default_model_id: "google/a" });
    writeFileSync(join(folder, "models.json"), JSON.stringify({ default_model_id: "openai/b" }));
    const environment = { OUTRIDER_DATA_DIR: folder };
    expect(readConfig({}, environment).models().defaultModelId).toBe("openai/b");
    expect(readConfig({}, { ...environment, OUTRIDER_MODELS: path }).models().defaultModelId).toBe(
      "google/a",
    );
    expect(readConfig({ models: path }, environment).models().defaultModelId).toBe("google/a");
    expect(readConfig({ defaultModel: "scripted" }, environment).models().defaultModelId).toBe("scripted");
  });

  test("is optional, unless it was named", () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    const { providers } = readConfig({}, { OUTRIDER_DATA_DIR: empty }).models();
    expect(Object.keys(providers)).toEqual(["anthropic", "openai", "google"]);
    const asked = join(empty, "absent.json");
    expect(() => readConfig({}, { OUTRIDER_MODELS: asked }).models()).toThrow(
      `${asked} cannot be read (ENOENT). OUTRIDER_MODELS or --models sets the path of the models file.`,
    );
  });

  test.each([
    ["{ oops", /file-\d+\.json is not valid JSON\.$/],
    [[], /the file must be an object/],
    [{ provider: {} }, /`\/provider` is unknown \(did you mean `providers`\?\)/],
    [provider({ base_uri: "x" }), /`\/providers\/gate\/base_uri` is unknown \(did you mean `base_url`\?\)/],
    [
      provider({ models: { a: { price: {} } } }),
      /`\/providers\/gate\/models\/a\/price` is unknown.*`prices`/,
    ],
    [provider({ models: { a: { prices: { input_usd_per_mtok: 1 } } } }), /output_usd_per_mtok` is required/],
    [provider({ models: { a: { context_tokens: 10 } } }), /context_tokens` must be at least 4096/],
    [provider({ type: "mistral" }), /`\/providers\/gate\/type` must be one of `anthropic`/],
    [{ providers: { gate: {} } }, /`\/providers\/gate\/type` is required; it must be one of `anthropic`/],
    [{ providers: { google: { type: "openai" } } }, /`\/providers\/google\/type` must be `google`/],
    [{ providers: { "a b": { type: "openai" } } }, /has an invalid name: it must be 1 to 32 letters/],
    [local({}), /`\/providers\/local\/base_url` is required for an OpenAI-compatible provider/],
    [local({ base_url: "localhost:1234" }), /base_url` must be an http or https URL/],
    [
      local({ base_url: "http://x", api: "chat" }),
      /`\/providers\/local\/api` is only supported for the types `openai` and `azure`/,
    ],
    [
      provider({ api_key: "a", api_key_env: "B" }),
      /may have only one of `api_key`, `api_key_env` and `api_key_file`/,
    ],
    [provider({ api_key: "two words" }), /`\/providers\/gate\/api_key` is not a valid key/],
  ])("with an error is rejected with field and remedy: %j", (content, message) => {
    expect(() => read(content)).toThrow(message);
  });

  test("is never quoted in errors, because it may contain a key", () => {
    expect(() => read('{"providers": {"openai": {"api_key": "sk-very-secret" oops')).not.toThrow(
      /very-secret/,
    );
    expect(() => read(provider({ api_key: "sk very secret" }))).not.toThrow(/very secret/);
  });
});

describe("a provider's key", () => {
  const keyOf = (content: object, variables: Record<string, string> = {}, name = "gate") =>
    read(content, variables).providers[name]?.key;

  test("is read from the named variable or file", () => {
    expect(keyOf(provider({ api_key_env: "MY_KEY" }), { MY_KEY: "k-1" })).toMatchObject({ value: "k-1" });
    const file = write("k-2\n");
    expect(keyOf(provider({ api_key_file: file }))).toMatchObject({ value: "k-2", name: file });
    expect(keyOf(provider({ api_key_file: basename(file) }))).toMatchObject({ value: "k-2" });
  });

  test("that cannot be found leaves the provider without a key, with the reason", () => {
    expect(keyOf(provider({ api_key_env: "MY_KEY" }))).toMatchObject({
      from: "missing",
      reason: expect.stringMatching(/^no key: the variable MY_KEY, named in .*json, is not set$/),
    });
    expect(keyOf(provider({ api_key_file: "/nowhere/key" }))).toMatchObject({
      reason: expect.stringContaining("/nowhere/key"),
    });
  });

  test.each([
    ["anthropic", "ANTHROPIC_API_KEY"],
    ["openai", "OPENAI_API_KEY"],
    ["google", "GEMINI_API_KEY"],
    ["google", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ])("of %s is read from %s without any file", (name, variable) => {
    expect(
      readConfig({}, { OUTRIDER_DATA_DIR: "/nowhere", [variable]: "k" }).models().providers[name],
    ).toMatchObject({
      type: name,
      key: { from: "outside", name: variable, value: "k" },
    });
  });

  test("in the default variable is not used for a provider with another name", () => {
    expect(keyOf(provider({ base_url: "https://other.test/v1" }), { OPENAI_API_KEY: "k" })).toMatchObject({
      from: "stored",
      reason: expect.stringMatching(/^no key: add a key for the provider `gate` to /),
    });
  });
});

test("an OpenAI-compatible URL needs no file", () => {
  const { providers } = readConfig(
    {},
    {
      OUTRIDER_DATA_DIR: "/nowhere",
      OUTRIDER_OPENAI_COMPATIBLE_URL: "http://127.0.0.1:11434/v1/",
      OUTRIDER_OPENAI_COMPATIBLE_MODELS: "qwen3:8b, llama3.3",
      OUTRIDER_OPENAI_COMPATIBLE_KEY: "ollama",
    },
  ).models();
  expect(providers["openai-compatible"]).toMatchObject({
    type: "openai-compatible",
    base_url: "http://127.0.0.1:11434/v1",
    models: { "qwen3:8b": {}, "llama3.3": {} },
    key: { value: "ollama" },
  });
  expect(() =>
    readConfig({}, { OUTRIDER_DATA_DIR: "/nowhere", OUTRIDER_OPENAI_COMPATIBLE_URL: "ollama" }).models(),
  ).toThrow("OUTRIDER_OPENAI_COMPATIBLE_URL must be an http or https URL.");
});

describe("a cloud provider", () => {
  const account = () =>
    write({
      type: "service_account",
      client_email: "a@b",
      private_key: "PRIVATE",
      token_uri: "https://t.example/",
    });

  test("is configured by its usual variables", () => {
    const aws = { AWS_REGION: "eu-west-1", AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "secret-1" };
    const vertex = { GOOGLE_VERTEX_PROJECT: "acme", GOOGLE_VERTEX_LOCATION: "global" };
    const { providers } = read(
      {},
      {
        ...{ ...aws, AWS_SESSION_TOKEN: "session-1", ...vertex },
        GOOGLE_APPLICATION_CREDENTIALS: account(),
        ...{ AZURE_RESOURCE_NAME: "acme-ai", AZURE_API_KEY: "azure-1" },
      },
    );
    expect(providers["amazon-bedrock"]).toMatchObject({
      type: "amazon-bedrock",
      cloud_settings: { region: "eu-west-1" },
      credentials: { access_key_id: "AKIA1", secret_access_key: "secret-1", session_token: "session-1" },
      key: { from: "credentials" },
    });
    expect(providers["google-vertex"]).toMatchObject({
      cloud_settings: {
        project: "acme",
        location: "global",
        client_email: "a@b",
        token_url: "https://t.example/",
      },
      credentials: { private_key: "PRIVATE" },
      key: { from: "credentials" },
    });
    expect(providers.azure).toMatchObject({
      cloud_settings: { resource_name: "acme-ai" },
      key: { from: "outside", value: "azure-1" },
    });
    const bearer = read({}, { AWS_REGION: "eu-west-1", AWS_BEARER_TOKEN_BEDROCK: "bearer-1" });
    expect(bearer.providers["amazon-bedrock"]?.key).toMatchObject({ from: "outside", value: "bearer-1" });
  });

  test("of another name uses the file, never the variables of the cloud", () => {
    const providers = {
      mine: { type: "amazon-bedrock", region: "us-east-1" },
      gemini: { type: "google-vertex", project: "p", location: "eu", credentials_file: account() },
    };
    const variables = {
      AWS_ACCESS_KEY_ID: "AKIA1",
      AWS_SECRET_ACCESS_KEY: "secret-1",
      AWS_REGION: "eu-west-1",
    };
    const { mine, gemini } = read({ providers }, variables).providers;
    expect(mine).toMatchObject({ cloud_settings: { region: "us-east-1" }, key: { from: "stored" } });
    expect(mine?.credentials).toBeUndefined();
    expect(gemini).toMatchObject({ credentials: { private_key: "PRIVATE" } });
  });

  test.each([
    [{ "amazon-bedrock": {} }, "amazon-bedrock", /no region: set AWS_REGION/],
    [{ azure: {} }, "azure", /no resource: set AZURE_RESOURCE_NAME/],
    [{ "google-vertex": { project: "p" } }, "google-vertex", /no project or location/],
    [
      { "google-vertex": { project: "p", location: "eu" } },
      "google-vertex",
      /GOOGLE_APPLICATION_CREDENTIALS/,
    ],
    [
      { "google-vertex": { project: "p", location: "eu", credentials_file: "absent.json" } },
      "google-vertex",
      /absent\.json cannot be read \(ENOENT\)/,
    ],
  ])("says what is missing: %j", (providers, name, reason) => {
    const { key } = (read({ providers }).providers as Record<string, { key: object }>)[name] ?? {};
    expect(key).toMatchObject({ from: "missing", reason: expect.stringMatching(reason) });
  });

  test.each([
    [provider({ region: "eu" }), /`\/providers\/gate\/region` is not supported for the type `openai`/],
    [
      { providers: { azure: { resource_name: "a.b" } } },
      /`\/providers\/azure\/resource_name` must be 1 to 63/,
    ],
    [{ providers: { "google-vertex": { api_key: "x" } } }, /use `credentials_file`/],
  ])("rejects %j", (content, message) => {
    expect(() => read(content)).toThrow(message);
  });
});
