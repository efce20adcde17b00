import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

let server: TestServer;
let member: string;
let other: string;

beforeAll(async () => {
  server = await testServer();
  member = await server.user("member@example.com");
  other = await server.user("other@example.com");
});
afterAll(() => server.stop());

const as = (key: string) => (method: string, path: string, body?: unknown) =>
  server.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const names = async (key: string, what: "views" | "templates") => {
  const { body } = await as(key)("GET", `/agent/${what}`);
  return body[what].map(({ name }: { name: string }) => name);
};
const uidOf = async (email: string): Promise<string> => {
  const { users } = (await server.call("GET", "/users")).body;
  return users.find((user: { email: string }) => user.email === email).uid;
};

describe("views", () => {
  const query = {
    state: ["FAILED"],
    creator: ["me"],
    q: "parser",
    metadata: { team: "a" },
    created_after: "2026-01-31",
  };

  test("keep filters, sort order and columns", async () => {
    const request = {
      name: "Broken",
      query,
      sort: { by: "updated_at", order: "asc" },
      columns: ["title", "state"],
    };
    const { status, body: view } = await as(member)("POST", "/agent/views", request);
    expect(status).toBe(201);
    expect(view).toMatchObject({
      ...request,
      query: { ...query, created_after: "2026-01-31T00:00:00.000Z" },
      is_shared: false,
      owner: { uid: await uidOf("member@example.com"), display_name: "member" },
    });
    const changed = await as(member)("PATCH", `/agent/views/${view.view_id}`, { name: "Fixed", query: {} });
    expect(changed.body).toMatchObject({
      name: "Fixed",
      query: {},
      sort: request.sort,
      columns: request.columns,
    });
    expect((await as(member)("DELETE", `/agent/views/${view.view_id}`)).status).toBe(204);
    expect(await names(member, "views")).toEqual([]);
  });

  test("reject filters that the list does not have", async () => {
    for (const wrong of [{ state: ["BROKEN"] }, { limit: 3 }, { unknown: ["x"] }]) {
      const reply = await as(member)("POST", "/agent/views", { name: "Wrong", query: wrong });
      expect(reply.status).toBe(400);
    }
  });

  test("are private until they are shared, and only the owner and admins change them", async () => {
    const { view_id } = (await as(member)("POST", "/agent/views", { name: "Own" })).body;
    const address = `/agent/views/${view_id}`;
    expect(await names(other, "views")).toEqual([]);
    expect((await as(other)("PATCH", address, { name: "Taken" })).status).toBe(404);
    await as(member)("PATCH", address, { is_shared: true });
    expect(await names(other, "views")).toEqual(["Own"]);
    expect((await as(other)("PATCH", address, { name: "Taken" })).status).toBe(403);
    expect((await as(other)("DELETE", address)).status).toBe(403);
    expect((await as(server.key)("PATCH", address, { name: "Renamed" })).body.name).toBe("Renamed");
    await as(member)("DELETE", address);
  });

  test("are limited per user", async () => {
    const uid = await uidOf("other@example.com");
    await server.db`
      insert into views (view_id, owner_uid, name, query, is_shared)
      select gen_random_uuid(), ${uid}, 'view ' || n, '{}', false from generate_series(1, 200) n`;
    const reply = await as(other)("POST", "/agent/views", { name: "One too many" });
    expect([reply.status, reply.body.detail]).toEqual([409, "You have 200 saved views. Delete one first."]);
    await server.db`delete from views`;
  });
});

describe("templates", () => {
  const request = {
    name: "Fix an issue",
    prompt: "Fix issue {{issue}} in {{ area }}. Repeat {{issue}}.",
    variables: [
      { name: "area", description: "Where", default: "parser", options: ["parser", "printer"] },
      { name: "unused" },
    ],
    config: { model_id: "scripted", name: "fixes" },
  };

  test("list all variables of the prompt first", async () => {
    const { status, body } = await as(member)("POST", "/agent/templates", request);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...request,
      variables: [{ name: "issue" }, request.variables[0], { name: "unused" }],
      owner: { display_name: "member" },
    });
    expect((await as(other)("GET", `/agent/templates/${body.template_id}`)).body).toEqual(body);
    await as(member)("DELETE", `/agent/templates/${body.template_id}`);
    expect(await names(other, "templates")).toEqual([]);
  });

  test("have unique names, regardless of case", async () => {
    const { body } = await as(member)("POST", "/agent/templates", request);
    const copy = await as(other)("POST", "/agent/templates", { ...request, name: "FIX an issue" });
    expect([copy.status, copy.body.detail]).toEqual([409, "`/name` is used by another template."]);
    const second = await as(other)("POST", "/agent/templates", { name: "Other", prompt: "Say hi" });
    const taken = await as(other)("PUT", `/agent/templates/${second.body.template_id}`, {
      name: request.name,
      prompt: "Say hi",
    });
    expect(taken.status).toBe(409);
    const renamed = await as(member)("PUT", `/agent/templates/${body.template_id}`, {
      name: "fix an issue",
      prompt: "Fix it",
    });
    expect(renamed.body).toMatchObject({ name: "fix an issue", prompt: "Fix it", variables: [] });
    expect(renamed.body.config).toBeUndefined();
    expect((await as(other)("DELETE", `/agent/templates/${body.template_id}`)).status).toBe(403);
    await server.db`delete from templates`;
  });

  test("reject configurations that no run could use", async () => {
    const nobody = "01890000-0000-7000-8000-000000000000";
    const wrong = [
      { config: { model_id: "nothing" } },
      { config: { environment_id: nobody } },
      { config: { mcp_servers: { a: { command: "a" } } } },
      { variables: [{ name: "a b" }] },
      { variables: [{ name: "a" }, { name: "a" }] },
    ];
    for (const part of wrong) {
      const reply = await as(member)("POST", "/agent/templates", { ...request, ...part });
      expect([part, reply.status >= 400 && reply.status < 500]).toEqual([part, true]);
    }
    expect(await names(member, "templates")).toEqual([]);
  });
});

test("a deleted user's templates and shared views belong to an admin", async () => {
  const leaver = await server.user("leaver@example.com");
  const uid = await uidOf("leaver@example.com");
  await as(leaver)("POST", "/agent/templates", { name: "Kept", prompt: "Say hi" });
  await as(leaver)("POST", "/agent/views", { name: "Kept", is_shared: true });
  await as(leaver)("POST", "/agent/views", { name: "Private" });
  expect((await server.call("DELETE", `/users/${uid}`)).status).toBe(204);
  const admin = await uidOf("admin@localhost");
  const { views } = (await server.call("GET", "/agent/views")).body;
  const { templates } = (await server.call("GET", "/agent/templates")).body;
  expect(views).toMatchObject([{ name: "Kept", owner: { uid: admin } }]);
  expect(templates).toMatchObject([{ name: "Kept", owner: { uid: admin } }]);
  expect(await server.db`select name from views where name = 'Private'`).toEqual([]);
});
