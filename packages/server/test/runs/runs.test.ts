import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const create = async (body: object = {}, options: object = {}) => {
  const reply = await server.call("POST", "/agent/run", {
    body: { prompt: "SAY: hello", ...body },
    ...options,
  });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.run_id as string;
};
const get = async (run: string) => (await server.call("GET", `/agent/runs/${run}`)).body;

/** There is no worker, so states that only a worker sets are written to the database. */
const setState = (run: string, state: string) =>
  server.db.begin(async (tx) => {
    await tx`update runs set state = ${state} where run_id = ${run}`;
    await tx`update run_state set state = ${state} where run_id = ${run}`;
  });

describe("creating a run", () => {
  test("returns id, state and URL at once, on both paths", async () => {
    for (const path of ["/agent/run", "/agent/runs"]) {
      const { status, body, headers } = await server.call("POST", path, { body: { prompt: "SAY: hello" } });
      expect(status).toBe(200);
      const run_id = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);
      expect(body).toEqual({ run_id, state: "QUEUED", at_capacity: true });
      expect(headers.get("location")).toBe(`/api/v1/agent/runs/${body.run_id}`);
    }
  });

  test("stores and returns every field", async () => {
    const sent = {
      prompt: "First line\nsecond line with ünïcödé and 🚀",
      title: "A title",
      metadata: { ticket: "A-1", "x.y_z-1": "" },
      limits: { max_steps: 3, max_cost_usd: 0.5, timeout_minutes: 2 },
      output_schema: { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] },
      priority: -7,
      attachments: [
        { file_name: "a b.txt", mime_type: "text/plain", data: Buffer.from("hello").toString("base64") },
      ],
      config: { name: "labelled", base_prompt: "Be brief.", idle_timeout_minutes: 0 },
    };
    const run = await get(await create(sent));
    const { attachments, config, ...plain } = sent;
    expect(run).toMatchObject({
      ...plain,
      state: "QUEUED",
      phase: "queued",
      source: "API",
      turns: 1,
      attempts: 0,
      is_sandbox_running: false,
      attachments: [{ file_name: "a b.txt", mime_type: "text/plain", size_bytes: 5 }],
      agent_config: { ...config, model_id: "scripted" },
      creator: { type: "user", email: "admin@localhost" },
    });
    expect(run.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [kept] = await server.db`select data from attachments where run_id = ${run.run_id}`;
    expect(kept?.data.toString()).toBe("hello");
  });

  test("never returns null", async () => {
    const { text } = await server.call("GET", `/agent/runs/${await create()}`);
    expect(text).not.toContain("null");
  });

  test.each([
    ["\n  \n  Fix the parser \nand more", "Fix the parser"],
    ["x".repeat(200), `${"x".repeat(79)}…`],
    ["🚀".repeat(80), "🚀".repeat(80)],
    [" \n ", "Untitled run"],
  ])("derives a title from the prompt's first line (%#)", async (prompt, title) => {
    expect((await get(await create({ prompt }))).title).toBe(title);
  });

  test.each([
    ["cli/0.1.0", "CLI"],
    ["github-action/2", "GITHUB_ACTION"],
    ["GITHUB_ACTION", "GITHUB_ACTION"],
    ["github_action", "GITHUB_ACTION"],
    ["Cli", "CLI"],
    ["WEB_APP", "API"],
    ["API", "API"],
    ["", "API"],
    ["something-else", "API"],
  ])("records the source that the client sends (%s)", async (client, source) => {
    const run = await create({}, { headers: { "x-outrider-client": client } });
    expect((await get(run)).source).toBe(source);
  });
});

describe("the configuration is resolved", () => {
  test.each([
    ["acme/skills:release-notes", "release-notes"],
    ["acme/skills:tools/lint/SKILL.md", "lint"],
    ["acme/skills:SKILL.md", "skills"],
  ])("a run from the skill %s is named %s", async (skill_spec, name) => {
    const { agent_config } = await get(await create({ config: { skill_spec } }));
    expect(agent_config).toMatchObject({ skill_spec, name });
  });

  test("an explicit name overrides the skill's", async () => {
    const { agent_config } = await get(await create({ config: { skill_spec: "a/b:c", name: "mine" } }));
    expect(agent_config.name).toBe("mine");
  });

  test("MCP servers sent as an array are stored as the map", async () => {
    const mcp_servers = [{ name: "files", command: "mcp-files", args: ["--root", "."] }];
    const { agent_config } = await get(await create({ config: { mcp_servers } }));
    expect(agent_config.mcp_servers).toEqual({ files: { command: "mcp-files", args: ["--root", "."] } });
  });

  test("literal values of env and headers are masked on the run and encrypted at rest", async () => {
    await server.call("PUT", "/agent/secrets/TOKEN", { body: { value: "value-of-the-token" } });
    const environment = await server.call("POST", "/agent/environments", {
      body: { name: "e", secrets: ["TOKEN"] },
    });
    const mcp_servers = {
      a: { command: "a", env: { LITERAL: "literal-secret", REF: "${secrets.TOKEN}", ODD: "${secrets.}" } },
      b: { url: "https://mcp.example.com/x", headers: { Authorization: "Bearer ${secrets.TOKEN}" } },
    };
    const { environment_id } = environment.body;
    const run = await create({ config: { mcp_servers, environment_id } });
    expect((await get(run)).agent_config.mcp_servers).toEqual({
      a: { command: "a", env: { LITERAL: "***", REF: "${secrets.TOKEN}", ODD: "***" } },
      b: { url: "https://mcp.example.com/x", headers: { Authorization: "***${secrets.TOKEN}" } },
    });
    const [row] = await server.db`
      select r::text as everything, sealed_config from runs r where run_id = ${run}`;
    expect(row?.everything).not.toContain("literal-secret");
    expect(row?.sealed_config.toString("latin1")).not.toContain("literal-secret");
    expect(row?.sealed_config.length).toBeGreaterThan(100);
  });

  test("uses the cloud agent's model and environment if the run sets none", async () => {
    const { environment_id } = (
      await server.call("POST", "/agent/environments", { body: { name: "default" } })
    ).body;
    const agent = await server.call("POST", "/agent/identities", {
      body: { name: "bot", model_id: "scripted", environment_id },
    });
    const { key } = (
      await server.call("POST", "/keys", { body: { name: "k", type: "agent", agent_uid: agent.body.uid } })
    ).body;
    const { agent_config, creator } = await get(await create({}, { key }));
    expect(agent_config).toMatchObject({ environment_id, model_id: "scripted" });
    expect(creator).toEqual({ type: "service_account", uid: agent.body.uid, display_name: "bot" });
  });
});

describe("cancelling", () => {
  test("is in effect when the response is sent, and a second cancel returns the same", async () => {
    const run = await create();
    for (let round = 0; round < 2; round++) {
      const { status, body } = await server.call("POST", `/agent/runs/${run}/cancel`);
      expect([status, body]).toEqual([200, { run_id: run, state: "CANCELLED" }]);
    }
    const { state, phase, finished_at } = await get(run);
    expect({ state, phase, finished_at }).toEqual({
      state: "CANCELLED",
      phase: "done",
      finished_at: expect.any(String),
    });
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(events.map((event: { type: string }) => event.type)).toEqual(["run.created", "run.cancelled"]);
  });

  test("accepts an empty body of any content type, and an empty object", async () => {
    const headers = { "content-type": "text/plain" };
    const first = await server.call("POST", `/agent/runs/${await create()}/cancel`, { headers });
    const second = await server.call("POST", `/agent/runs/${await create()}/cancel`, { body: {} });
    expect([first.status, second.status]).toEqual([200, 200]);
  });

  test.each(["INPROGRESS", "BLOCKED"])("works in %s", async (state) => {
    const run = await create();
    await setState(run, state);
    expect((await server.call("POST", `/agent/runs/${run}/cancel`)).status).toBe(200);
  });

  test.each(["SUCCEEDED", "FAILED"])("is a conflict on a %s run, and not retryable", async (state) => {
    const run = await create();
    await setState(run, state);
    const { status, body, headers } = await server.call("POST", `/agent/runs/${run}/cancel`);
    expect([status, body.error_code, headers.get("x-should-retry")]).toEqual([409, "conflict", "false"]);
    expect((await get(run)).state).toBe(state);
  });

  test("concurrent cancels change the state once", async () => {
    const run = await create();
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => server.call("POST", `/agent/runs/${run}/cancel`)),
    );
    expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([200]));
    const { events } = (await server.call("GET", `/agent/runs/${run}/events`)).body;
    expect(events).toHaveLength(2);
  });
});

describe("deleting", () => {
  test("deletes a finished run and everything that belongs to it", async () => {
    const attachments = [{ file_name: "a", mime_type: "text/plain", data: "aGVsbG8=" }];
    const run = await create({ attachments });
    await server.call("POST", `/agent/runs/${run}/followups`, { body: { message: "more", attachments } });
    expect((await server.call("DELETE", `/agent/runs/${run}`)).status).toBe(409);
    await server.call("POST", `/agent/runs/${run}/cancel`);
    expect((await server.call("DELETE", `/agent/runs/${run}`)).status).toBe(204);
    expect((await server.call("GET", `/agent/runs/${run}`)).status).toBe(404);
    expect((await server.call("DELETE", `/agent/runs/${run}`)).status).toBe(404);
    for (const table of ["runs", "run_state", "events", "followups", "attachments"]) {
      const rows = await server.db`select 1 from ${server.db(table)} where run_id = ${run}`;
      expect(rows, table).toHaveLength(0);
    }
  });
});
