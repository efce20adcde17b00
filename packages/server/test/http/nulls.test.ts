import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());

const post = (path: string, body: unknown, method = "POST") => server.call(method, path, { body });

describe("null for an optional field means that the field is absent", () => {
  test("in a run, at every depth", async () => {
    const { status, body } = await post("/agent/run", {
      prompt: "SAY: hello",
      title: null,
      metadata: null,
      limits: { max_steps: 3, max_cost_usd: null, timeout_minutes: null },
      attachments: null,
      output_schema: null,
      priority: null,
      config: {
        name: null,
        model_id: null,
        environment_id: null,
        mcp_servers: { tools: { command: "tool", args: null, url: null, headers: null } },
      },
    });
    expect(status).toBe(200);
    const run = (await server.call("GET", `/agent/runs/${body.run_id}`)).body;
    expect(run).toMatchObject({ title: "SAY: hello", limits: { max_steps: 3 }, priority: 0 });
    expect(run.agent_config.mcp_servers).toEqual({ tools: { command: "tool" } });
    expect(JSON.stringify(run)).not.toContain("null");
  });

  test("in a list of MCP servers", async () => {
    const mcp_servers = [{ name: "tools", url: "https://example.com/mcp", command: null, env: null }];
    const { body } = await post("/agent/run", { prompt: "x", config: { mcp_servers } });
    const run = (await server.call("GET", `/agent/runs/${body.run_id}`)).body;
    expect(run.agent_config.mcp_servers).toEqual({ tools: { url: "https://example.com/mcp" } });
  });

  test("in a PUT, which replaces the resource", async () => {
    const body = { name: "e", description: "old", timeout_minutes: 5 };
    const { environment_id } = (await post("/agent/environments", body)).body;
    const next = {
      name: "e",
      description: null,
      timeout_minutes: null,
      repos: [{ owner: "acme", repo: "api", url: null, ref: null, path: null, secret: null }],
    };
    const replaced = await post(`/agent/environments/${environment_id}`, next, "PUT");
    expect(replaced.status).toBe(200);
    expect(replaced.body).not.toHaveProperty("description");
    expect(replaced.body).not.toHaveProperty("timeout_minutes");
    expect(replaced.body.repos).toEqual([{ owner: "acme", repo: "api" }]);
  });

  test("but not for a required field, an entry of a map, or an item of a list", async () => {
    const cases: [object, string, string][] = [
      [{ prompt: null }, "/prompt", "is required, unless `config.skill_spec` names a skill"],
      [
        { prompt: "x", attachments: [{ file_name: null, mime_type: "text/plain", data: "" }] },
        "/attachments/0/file_name",
        "must be a string",
      ],
      [{ prompt: "x", metadata: { a: null } }, "/metadata/a", "must be a string"],
      [{ prompt: "x", attachments: [null] }, "/attachments/0", "must be an object"],
      [{ prompt: "x", titel: null }, "/titel", "is unknown (did you mean `title`?)"],
      [
        { prompt: "x", config: { mcp_servers: { tools: { command: null } } } },
        "/config/mcp_servers/tools",
        "must have exactly one of `command` (stdio server) and `url` (HTTP server)",
      ],
    ];
    for (const [body, pointer, message] of cases) {
      const reply = await post("/agent/run", body);
      expect([reply.status, reply.body.errors]).toEqual([400, [{ pointer, message }]]);
    }
  });

  test("and stays a value inside a schema for the output", async () => {
    const output_schema = { type: "object", properties: { a: { enum: [null, 1] } } };
    const { body } = await post("/agent/run", { prompt: "x", output_schema });
    const run = (await server.call("GET", `/agent/runs/${body.run_id}`)).body;
    expect(run.output_schema).toEqual(output_schema);
  });
});

describe("in a PATCH, null clears the field:", () => {
  const errorsOf = async (path: string, body: object) => {
    const reply = await post(path, body, "PATCH");
    return [reply.status, reply.body.errors];
  };
  const newFollowup = async () => {
    const { run_id } = (await post("/agent/run", { prompt: randomUUID() })).body;
    const sent = { message: "m", mode: "queue" };
    const { followup_id } = (await post(`/agent/runs/${run_id}/followups`, sent)).body;
    return `/agent/runs/${run_id}/followups/${followup_id}`;
  };
  const cannotBeCleared = "cannot be cleared; omit it to keep its value";

  test("it resets the mode of a follow-up", async () => {
    const path = await newFollowup();
    const { status, body } = await post(path, { mode: null }, "PATCH");
    expect([status, body.mode, body.message]).toEqual([200, "auto", "m"]);
    expect(await errorsOf(path, {})).toEqual([400, [expect.objectContaining({ pointer: "" })]]);
  });

  test("it is rejected for fields that cannot be cleared, together with all other errors", async () => {
    expect(await errorsOf(await newFollowup(), { message: null, mode: "never" })).toEqual([
      400,
      [
        { pointer: "/message", message: cannotBeCleared },
        { pointer: "/mode", message: expect.stringContaining("must be one of") },
      ],
    ]);
    const { user } = (await post("/users", { email: "a@example.com", display_name: "Ada" })).body;
    const { status, body } = await post(`/users/${user.uid}`, { role: null }, "PATCH");
    expect([status, body.detail]).toEqual([400, `\`/role\` ${cannotBeCleared}.`]);
    expect(await errorsOf(`/users/${user.uid}`, { display_name: null, rol: null })).toEqual([
      400,
      [
        { pointer: "/display_name", message: cannotBeCleared },
        { pointer: "/rol", message: "is unknown (did you mean `role`?)" },
      ],
    ]);
  });
});
