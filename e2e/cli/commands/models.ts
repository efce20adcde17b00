import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../../../packages/agent/test/stub-model/server.ts";
import { cli, runCommand } from "./installation.ts";

describe("model providers", () => {
  const key = "sk-of-the-stub-0123456789";
  let stub: StubModel;
  beforeAll(async () => {
    stub = await startStubModel({ apiKey: key, models: ["tiny"] });
  });
  afterAll(() => stub?.close());

  test("are added with a key from stdin, tested, made the default and removed", async () => {
    const settings = ["--type", "openai-compatible", "--base-url", stub.baseUrl("chat"), "--model", "tiny"];
    const add = ["model", "add", "house", ...settings, "--key-file", "-"];
    const added = await runCommand(add, { input: `${key}\n` });
    expect(added.stdout).toContain("Connected house.");
    expect(added.stdout + added.stderr).not.toContain(key);
    expect((await runCommand(["model", "test", "house", "--model", "tiny", "--json"])).json).toMatchObject({
      ...{ ok: true, model_id: "house/tiny" },
    });
    expect((await runCommand(["model", "providers"])).stdout).toMatch(
      /^house\topenai-compatible\tstored\tyes\tpassed/m,
    );
    await runCommand(["model", "default", "house/tiny"]);
    expect((await runCommand(["model", "list"])).stdout).toContain("house/tiny\tdefault\t");
    const inUse = await cli(["model", "remove", "house", "--yes"]);
    expect([inUse.code, inUse.stderr]).toEqual([1, expect.stringContaining("default")]);
    await runCommand(["model", "default", "--automatic"]);
    await runCommand(["model", "remove", "house", "--yes"]);
    expect((await runCommand(["model", "providers"])).stdout).not.toContain("house");
  });

  test("report a key that the provider rejects", async () => {
    const settings = ["--type", "openai-compatible", "--base-url", stub.baseUrl("chat"), "--model", "tiny"];
    const wrong = { input: "sk-wrong-0123456789" };
    const added = await cli(["model", "add", "wrong", ...settings, "--key-file", "-"], wrong);
    expect(added.code).not.toBe(0);
    expect(added.stdout + added.stderr).toContain("rejected the API key");
    await runCommand(["model", "remove", "wrong", "--yes"]);
  });
});
