import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HostileProviders, startHostileProviders } from "../../../../e2e/hostile/providers.ts";
import { type Event, startTestInstallation, type TestInstallation } from "../installation.ts";
import { mounts, node } from "./mcp-support.ts";

/** MCP servers, models and scripts that try to take down the worker, or to make the server reject its reports. */

let installation: TestInstallation;
let providers: HostileProviders;
const modelsFile = join(tmpdir(), `outrider-hostile-models-${process.pid}.json`);
const hostileFolder = fileURLToPath(new URL("../../../../e2e/hostile/mcp", import.meta.url));

beforeAll(async () => {
  providers = await startHostileProviders();
  const hostile = { type: "openai-compatible", base_url: providers.modelUrl };
  writeFileSync(modelsFile, JSON.stringify({ default_model_id: "scripted", providers: { hostile } }));
  // A worker that is blocked for longer than this loses the leases of all its runs.
  installation = await startTestInstallation({
    OUTRIDER_MODELS: modelsFile,
    OUTRIDER_LEASE_SECONDS: "10",
    OUTRIDER_LEASE_GRACE_SECONDS: "1",
  });
  await installation.worker({
    mounts: [...mounts, { source: hostileFolder, target: "/opt/hostile" }],
    allowedAddresses: providers.mcpAddress,
  });
});
afterAll(async () => {
  await installation?.stop();
  providers?.stop();
  rmSync(modelsFile, { force: true });
});

const stdio = (attack: string) => ({ command: node, args: ["/opt/hostile/stdio-server.ts", attack] });
const overHttp = (form: "json" | "sse") => (attack: string) => ({ url: providers.mcpUrl(form, attack) });
const firstAttempt = (events: Event[]) => events.every(({ attempt }) => attempt <= 1);

/** Runs a script to its end, in whatever state, and requires that it takes one attempt. */
async function run(script: string[], config: object, state = "SUCCEEDED") {
  const id = await installation.create(script, { config: { idle_timeout_minutes: 0, ...config } });
  const item = await installation.until(id, state);
  const events = await installation.events(id);
  expect(firstAttempt(events)).toBe(true);
  const [returned] = events.filter(({ type }) => type === "tool.returned").map(({ data }) => data);
  return { id, item, events, returned };
}

const callAttack = (server: object) => run(["CALL: hostile__attack"], { mcp_servers: { hostile: server } });

describe("while a hostile server answers", () => {
  /** A run that works until the test ends it. Its lease must survive everything that happens on its worker. */
  let concurrentRun: string;

  beforeAll(async () => {
    concurrentRun = await installation.create(["RUN: echo started", "SLEEP: 600000", "SAY: done"]);
    await installation.event(concurrentRun, ({ type }) => type === "command.finished");
  });
  afterAll(async () => {
    await installation.followUp(concurrentRun, ["SAY: and finished"], { mode: "interrupt" });
    await installation.until(concurrentRun, "SUCCEEDED");
    expect(firstAttempt(await installation.events(concurrentRun))).toBe(true);
  });

  describe.each([
    ["stdio", stdio],
    ["HTTP", overHttp("json")],
    ["an event stream", overHttp("sse")],
  ])("over %s", (_, server) => {
    test.each([
      ["100,000 empty items", "contains more than 100000 values"],
      ["5 million empty items", "contains more than 100000 values"],
      ["9 MB of structured content", "contains more than 100000 values"],
      ["a result nested 200,000 levels deep", "is nested deeper than 100 levels"],
    ])("with %s, the agent gets an error", async (attack, problem) => {
      const { returned } = await callAttack(server(attack));
      expect(returned).toMatchObject({
        is_error: true,
        output: `The server sent a message that ${problem}.`,
      });
    });
  });

  test.each(["15 MB of text with escapes", "20,000 images", "a flood of pings"])(
    "with %s, the agent gets a bounded result",
    async (attack) => {
      const { returned } = await callAttack(stdio(attack));
      expect(returned.is_error).toBeUndefined();
      expect(returned.output.length).toBeLessThan(70_000);
    },
  );

  test("with more items than an agent needs, the rest is summarized", async () => {
    const { returned } = await callAttack(stdio("20,000 images"));
    expect(returned.output).toMatch(/\[19001 more items omitted\]$/);
  });

  test("to the model with an event of a million items, the run fails with the reason", async () => {
    const { item } = await run(["SAY: x"], { model_id: "hostile/a-million-choices" }, "FAILED");
    expect(item.status_message).toMatchObject({
      error_code: "model_error",
      message: expect.stringContaining("has an event that contains more than 30000 values"),
    });
  });
});

describe("a hostile list of tools", () => {
  test.each([
    ["an input schema nested 200,000 levels deep", "is nested deeper than 100 levels"],
    ["a tool name of 1 MB", "a tool name of more than 256 characters"],
  ])("with %s fails the run with the reason", async (attack, problem) => {
    const mcp_servers = { hostile: stdio(attack) };
    const { item } = await run(["SAY: x"], { mcp_servers }, "FAILED");
    expect(item.status_message).toMatchObject({
      error_code: "mcp_server_failed",
      message: expect.stringContaining(problem),
    });
  });

  test("with a schema that is too deep for a model works without it", async () => {
    const { returned, events } = await callAttack(stdio("an input schema nested 90 levels deep"));
    expect(returned.output).toBe("ordinary");
    const notices = events.filter(({ type }) => type === "notice").map(({ data }) => data.message);
    expect(notices).toContain("The input schema of hostile__attack is too long for a model and was omitted.");
  });

  test("of 5,000 gives the agent the first hundred", async () => {
    const { item } = await run(["CALL: hostile__tool-99"], {
      mcp_servers: { hostile: stdio("5,000 tools with long descriptions") },
    });
    expect(item.receipt.mcp_servers[0].tools.length).toBe(100);
  });
});

describe("text that cannot be stored", () => {
  test("in a server's name, tools and results is replaced", async () => {
    const named = await callAttack(stdio("lone surrogates in the server's name"));
    expect(named.item.receipt.mcp_servers[0].server).toBe("\ufffd x \ufffd\ufffd");
    const { returned } = await callAttack(stdio("lone surrogates and NUL characters in tools and results"));
    expect(returned.output).toBe('\ufffd\ufffd\n{"\\udfff":{"__proto__":"\\u0000"}}');
  });

  test("in the input of a call is replaced, and the run continues", async () => {
    const deep = `{"x":${"[".repeat(200)}${"]".repeat(200)}}`;
    const { events, returned } = await run([`CALL: nosuch ${deep}`, "SAY: done"], {});
    const [called] = events.filter(({ type }) => type === "tool.called").map(({ data }) => data);
    expect(called).toMatchObject({ tool: "nosuch", input: { unreadable: expect.stringContaining("[[[[") } });
    expect(returned).toMatchObject({ is_error: true, output: expect.stringContaining("40 levels") });
    const keys = await run(['CALL: nosuch {"\\ud800":"\\u0000"}', "SAY: done"], {});
    const [stored] = keys.events.filter(({ type }) => type === "tool.called").map(({ data }) => data);
    expect(stored.input).toEqual({ "\ufffd": "\ufffd" });
  });

  test("in the name of an artifact is replaced", async () => {
    const { item } = await run(
      ["RUN: echo content > file", 'CALL: keep_artifact {"path":"file","name":"a\\u0000\\ud800b"}'],
      {},
    );
    expect(item.artifacts[0]).toMatchObject({ artifact_type: "FILE", name: "a\ufffd\ufffdb" });
  });

  test.each(["input-200000-levels-deep", "unstorable-tool-name", "absurd-usage", "input-with-prototype"])(
    "in the answer %s of a model does not stop the run",
    async (name) => {
      await run(["SAY: x"], { model_id: `hostile/${name}` });
    },
  );

  test("in the output of a setup command does not stop the build", async () => {
    const { body } = await installation.call("POST", "/agent/environments", {
      body: { name: "unstorable", setup_commands: ["printf 'a\\0b\\355\\240\\200\\n'"] },
    });
    await run(["SAY: done"], { environment_id: body.environment_id });
  });
});
