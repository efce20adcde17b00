import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashKey } from "../../src/engine/auth/keys.ts";
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

const makeKey = (body: object, key = server.key) =>
  server.call("POST", "/keys", { body: { name: "k", type: "personal", ...body }, key });
const makeAgent = async (key: string) =>
  (await server.call("POST", "/agent/identities", { body: { name: "bot" }, key })).body.uid as string;
const makeRun = async (key: string) =>
  (await server.call("POST", "/agent/run", { body: { prompt: "x" }, key })).body.run_id as string;
const status = async (method: string, path: string, key: string, body?: object) =>
  (await server.call(method, path, { key, body })).status;

describe("a key", () => {
  test.each([
    ["personal", "orp_", {}],
    ["agent", "ora_", {}],
    ["worker", "orw_", {}],
  ])("of type %s starts with %s and is shown once", async (type, prefix) => {
    const agent_uid = type === "agent" ? await makeAgent(server.key) : undefined;
    const { status: made, body } = await makeKey({ type, agent_uid });
    expect(made).toBe(201);
    expect(body.key).toMatch(new RegExp(`^${prefix}[0-9A-Za-z]{49}$`));
    const { keys } = (await server.call("GET", "/keys")).body;
    const listed = keys.find(({ key_id }: { key_id: string }) => key_id === body.key_id);
    const { key, ...rest } = body;
    expect(listed).toEqual(rest);
    expect(key.startsWith(listed.prefix)).toBe(true);
  });

  test("is stored only as a hash", async () => {
    const { key } = (await makeKey({})).body;
    const rows = await server.db`select k::text as row from keys k`;
    expect(rows.some(({ row }) => row.includes(key.slice(10)))).toBe(false);
  });

  test("with one wrong character is malformed", async () => {
    const { key } = (await makeKey({})).body;
    expect(hashKey(key)).toBeDefined();
    for (let index = 4; index < key.length; index++) {
      const wrong = key.slice(0, index) + (key[index] === "a" ? "b" : "a") + key.slice(index + 1);
      expect(hashKey(wrong)).toBeUndefined();
    }
  });

  test("stops working at once when it is revoked", async () => {
    const { key, key_id } = (await makeKey({})).body;
    expect(await status("GET", "/me", key)).toBe(200);
    expect(await status("DELETE", `/keys/${key_id}`, server.key)).toBe(204);
    expect(await status("GET", "/me", key)).toBe(401);
    expect(await status("DELETE", `/keys/${key_id}`, server.key)).toBe(404);
  });

  test("stops working when it expires", async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { key, key_id, expires_at: shown } = (await makeKey({ expires_at })).body;
    expect(shown).toBe(expires_at);
    expect(await status("GET", "/me", key)).toBe(200);
    await server.db`update keys set expires_at = outrider_now() where key_id = ${key_id}`;
    expect(await status("GET", "/me", key)).toBe(401);
  });

  test("identifies its owner", async () => {
    const { body } = await server.call("GET", "/me", { key: member });
    expect(body).toMatchObject({
      type: "user",
      email: "member@example.com",
      role: "member",
      key: { type: "personal", scopes: ["runs:read", "runs:write"] },
    });
  });

  test("cannot create a key with more permissions or a later expiry", async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { key: narrow } = (await makeKey({ scopes: ["runs:write"], expires_at })).body;
    expect((await makeKey({ scopes: ["runs:read"] }, narrow)).status).toBe(403);
    expect((await makeKey({ scopes: ["admin"] }, member)).status).toBe(403);
    expect((await makeKey({ expires_at: "2999-01-01T00:00:00Z" }, narrow)).status).toBe(403);
    const { body } = await makeKey({}, narrow);
    expect(body).toMatchObject({ scopes: ["runs:write"], expires_at });
    const { key: limited } = (await makeKey({ limits: { max_concurrent_runs: 1 } })).body;
    expect((await makeKey({}, limited)).status).toBe(403);
  });

  test("limited to environments cannot use others", async () => {
    const [one, two] = await Promise.all(
      ["one", "two"].map(
        async (name) =>
          (await server.call("POST", "/agent/environments", { body: { name } })).body.environment_id,
      ),
    );
    const { key } = (await makeKey({ limits: { environment_ids: [one] } })).body;
    const run = (environment_id: string) =>
      server.call("POST", "/agent/run", { key, body: { prompt: "x", config: { environment_id } } });
    expect((await run(one)).status).toBe(200);
    expect((await run(two)).body).toMatchObject({
      status: 403,
      errors: [{ pointer: "/config/environment_id" }],
    });
  });
});

describe("scopes only restrict", () => {
  test.each([
    ["runs:read", "GET", "/agent/runs", 200],
    ["runs:read", "POST", "/agent/run", 403],
    ["runs:write", "POST", "/agent/run", 200],
    ["runs:write", "GET", "/agent/runs", 403],
    ["admin", "GET", "/agent/secrets", 200],
    ["runs:read", "GET", "/agent/secrets", 403],
  ])("a key with %s: %s %s is %i", async (scope, method, path, expected) => {
    const { key } = (await makeKey({ scopes: [scope] })).body;
    expect(await status(method, path, key, method === "POST" ? { prompt: "x" } : undefined)).toBe(expected);
  });
});

describe("members", () => {
  test("see all runs, and steer their own and their cloud agents'", async () => {
    const agent = await makeAgent(member);
    const { key: agentKey } = (await makeKey({ type: "agent", agent_uid: agent }, member)).body;
    const [own, its] = [await makeRun(member), await makeRun(agentKey)];
    for (const run of [own, its]) {
      expect(await status("GET", `/agent/runs/${run}`, other)).toBe(200);
      expect(await status("GET", `/agent/runs/${run}/events`, other)).toBe(200);
      expect(await status("POST", `/agent/runs/${run}/cancel`, other)).toBe(403);
      expect(await status("POST", `/agent/runs/${run}/followups`, other, { message: "m" })).toBe(403);
      expect(await status("DELETE", `/agent/runs/${run}`, other)).toBe(403);
      expect(await status("POST", `/agent/runs/${run}/followups`, member, { message: "m" })).toBe(200);
      expect(await status("POST", `/agent/runs/${run}/cancel`, member)).toBe(200);
    }
  });

  test("cannot change environments, secrets and worker keys", async () => {
    expect(await status("GET", "/agent/environments", member)).toBe(200);
    expect(await status("POST", "/agent/environments", member, { name: "mine" })).toBe(403);
    expect(await status("PUT", "/agent/secrets/NAME", member, { value: "long enough" })).toBe(403);
    expect((await makeKey({ type: "worker" }, member)).status).toBe(403);
  });

  test("see and revoke their own keys only", async () => {
    const { key_id } = (await makeKey({}, member)).body;
    const seen = (await server.call("GET", "/keys", { key: other })).body.keys;
    expect(seen.map((key: { key_id: string }) => key.key_id)).not.toContain(key_id);
    expect(await status("DELETE", `/keys/${key_id}`, other)).toBe(404);
    expect(await status("DELETE", `/keys/${key_id}`, member)).toBe(204);
  });

  test("can only change and create keys for their own cloud agents", async () => {
    const agent = await makeAgent(member);
    expect(await status("PUT", `/agent/identities/${agent}`, other, { name: "taken" })).toBe(403);
    expect(await status("DELETE", `/agent/identities/${agent}`, other)).toBe(403);
    expect((await makeKey({ type: "agent", agent_uid: agent }, other)).status).toBe(403);
    expect(await status("PUT", `/agent/identities/${agent}`, member, { name: "renamed" })).toBe(200);
  });
});

test("the list of cloud agents is `agents`, sorted by name", async () => {
  const uid = await makeAgent(member);
  const { body } = await server.call("GET", "/agent/identities", { key: member });
  expect(Object.keys(body)).toEqual(["agents"]);
  expect(body.agents.map((agent: { uid: string }) => agent.uid)).toContain(uid);
  const names = body.agents.map(({ name }: { name: string }) => name);
  expect(names).toEqual(names.toSorted());
});

describe("admins", () => {
  test("steer all runs and manage all keys", async () => {
    const run = await makeRun(member);
    expect(await status("POST", `/agent/runs/${run}/cancel`, server.key)).toBe(200);
    const { key_id } = (await makeKey({}, other)).body;
    expect(await status("DELETE", `/keys/${key_id}`, server.key)).toBe(204);
  });

  test("without the admin scope are like members", async () => {
    const { key } = (await makeKey({ scopes: ["runs:read", "runs:write"] })).body;
    expect(await status("POST", `/agent/runs/${await makeRun(member)}/cancel`, key)).toBe(403);
  });
});

describe("an agent key", () => {
  test("sees and steers only its cloud agent's runs", async () => {
    const { key } = (await makeKey({ type: "agent", agent_uid: await makeAgent(member) }, member)).body;
    const [own, other] = [await makeRun(key), await makeRun(member)];
    const { runs } = (await server.call("GET", "/agent/runs", { key })).body;
    expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([own]);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/events"],
      ["GET", "/followups"],
      ["POST", "/cancel"],
      ["DELETE", ""],
    ] as const) {
      expect(await status(method, `/agent/runs/${other}${path}`, key)).toBe(404);
    }
    expect(await status("POST", `/agent/runs/${own}/cancel`, key)).toBe(200);
  });

  test("cannot create keys or cloud agents", async () => {
    const agent_uid = await makeAgent(member);
    const { key } = (await makeKey({ type: "agent", agent_uid }, member)).body;
    expect((await makeKey({}, key)).status).toBe(403);
    expect((await makeKey({ type: "agent", agent_uid }, key)).status).toBe(403);
    expect(await status("GET", "/keys", key)).toBe(403);
    expect(await status("POST", "/agent/identities", key, { name: "child" })).toBe(403);
    expect(await status("DELETE", `/agent/identities/${agent_uid}`, key)).toBe(403);
  });

  test("ends with its cloud agent, whose runs keep their creator", async () => {
    const uid = await makeAgent(member);
    const { key } = (await makeKey({ type: "agent", agent_uid: uid }, member)).body;
    const run = await makeRun(key);
    expect(await status("DELETE", `/agent/identities/${uid}`, member)).toBe(204);
    expect(await status("GET", "/me", key)).toBe(401);
    expect(await status("GET", `/agent/identities/${uid}`, member)).toBe(404);
    const { creator } = (await server.call("GET", `/agent/runs/${run}`, { key: member })).body;
    expect(creator).toEqual({ type: "service_account", uid, display_name: "bot" });
  });
});

test("a worker key can only be used by workers", async () => {
  const { key, scopes } = (await makeKey({ type: "worker" })).body;
  expect(scopes).toEqual([]);
  for (const path of ["/me", "/agent/runs", "/keys"]) expect(await status("GET", path, key)).toBe(403);
});

test("records the last use of a key without a write per request", async () => {
  const fresh = await testServer();
  await fresh.call("GET", "/me");
  await fresh.call("GET", "/me");
  const before = await fresh.db`select last_used_at from keys`;
  expect(before[0]?.last_used_at).toBeNull();
  await fresh.stop({ keepDatabase: true });
  const [after] = await fresh.db`select last_used_at from keys`;
  expect(after?.last_used_at).toEqual(expect.any(String));
  await fresh.drop();
});
