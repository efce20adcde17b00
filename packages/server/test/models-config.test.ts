import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { readConfig } from "../src/config.ts";

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

describe("the file of models", () => {
  test("is found in the data folder, by its variable and by its flag", () => {
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

  test("need not be there, unless it was asked for", () => {
    const empty = mkdtempSync(join(folder, "empty-"));
    const { providers } = readConfig({}, { OUTRIDER_DATA_DIR: empty }).models();
    expect(Object.keys(providers)).toEqual(["anthropic", "openai", "google"]);
    const asked = join(empty, "absent.json");
    expect(() => readConfig({}, { OUTRIDER_MODELS: asked }).models()).toThrow(
      `${asked} cannot be read (ENOENT). OUTRIDER_MODELS or --models names the file of models.`,
    );
  });

  test.each([
    ["{ oops", /file-\d+\.json is not valid JSON\.$/],
    [[], /the whole must be an object/],
    [{ provider: {} }, /`\/provider` is not known \(did you mean `providers`\?\)/],
    [provider({ base_uri: "x" }), /`\/providers\/gate\/base_uri` is not known \(did you mean `base_url`\?\)/],
    [
      provider({ models: { a: { price: {} } } }),
      /`\/providers\/gate\/models\/a\/price` is not known.*`prices`/,
    ],
    [provider({ models: { a: { prices: { input_usd_per_mtok: 1 } } } }), /output_usd_per_mtok` is missing/],
    [provider({ models: { a: { context_tokens: 10 } } }), /context_tokens` must be at least 4096/],
    [provider({ type: "mistral" }), /`\/providers\/gate\/type` must be one of `anthropic`/],
    [{ providers: { gate: {} } }, /`\/providers\/gate\/type` is missing; it is one of `anthropic`/],
    [{ providers: { google: { type: "openai" } } }, /`\/providers\/google\/type` must be `google`/],
    [{ providers: { "a b": { type: "openai" } } }, /has a name that must be 1 to 32 letters/],
    [local({}), /`\/providers\/local\/base_url` is missing; say where the models are/],
    [local({ base_url: "localhost:1234" }), /base_url` must be an http or https address/],
    [
      local({ base_url: "http://x", api: "chat" }),
      /`\/providers\/local\/api` goes with the type `openai` alone/,
    ],
    [
      provider({ api_key: "a", api_key_env: "B" }),
      /may have one of `api_key`, `api_key_env` and `api_key_file`/,
    ],
    [provider({ api_key: "two words" }), /`\/providers\/gate\/api_key` holds no key/],
  ])("that is wrong is refused with member and remedy: %j", (content, message) => {
    expect(() => read(content)).toThrow(message);
  });

  test("is never quoted where it is broken: it may hold a key", () => {
    expect(() => read('{"providers": {"openai": {"api_key": "sk-very-secret" oops')).not.toThrow(
      /very-secret/,
    );
    expect(() => read(provider({ api_key: "sk very secret" }))).not.toThrow(/very secret/);
  });
});

describe("a provider's key", () => {
  const keyOf = (content: object, variables: Record<string, string> = {}, name = "gate") =>
    read(content, variables).providers[name]?.key;

  test("is taken from the variable or the file that is named", () => {
    expect(keyOf(provider({ api_key_env: "MY_KEY" }), { MY_KEY: "k-1" })).toMatchObject({ value: "k-1" });
    const file = write("k-2\n");
    expect(keyOf(provider({ api_key_file: file }))).toMatchObject({ value: "k-2", name: file });
    expect(keyOf(provider({ api_key_file: basename(file) }))).toMatchObject({ value: "k-2" });
  });

  test("that cannot be found leaves the provider without one, and says why", () => {
    expect(keyOf(provider({ api_key_env: "MY_KEY" }))).toMatchObject({
      from: "missing",
      reason: expect.stringMatching(/^no key: the variable MY_KEY, which .*json names, is not set$/),
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
  ])("of %s is taken from %s without any file", (name, variable) => {
    expect(
      readConfig({}, { OUTRIDER_DATA_DIR: "/nowhere", [variable]: "k" }).models().providers[name],
    ).toMatchObject({
      type: name,
      key: { from: "outside", name: variable, value: "k" },
    });
  });

  test("of the usual name does not go to a provider of another name", () => {
    expect(keyOf(provider({ base_url: "https://other.test/v1" }), { OPENAI_API_KEY: "k" })).toMatchObject({
      from: "stored",
      hint: expect.stringMatching(/^no key: give the provider `gate` a key in /),
    });
  });
});

test("an OpenAI-compatible address needs no file", () => {
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
  ).toThrow("OUTRIDER_OPENAI_COMPATIBLE_URL must be an http or https address.");
});
