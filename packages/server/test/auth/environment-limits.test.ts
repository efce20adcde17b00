import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "../server.ts";

/** A member and a key of theirs that is limited to the environment `allowed`. Both own runs in several environments. */
let server: TestServer;
let member: string;
let limited: string;
let allowed: string;
let other: string;
const runs = { allowed: "", other: "", none: "" };

const call = async (method: string, path: string, body?: unknown, key = limited) =>
  server.call(method, path, { key, ...(body === undefined ? {} : { body }) });
const created = async (path: string, body: object, key = server.key) => {
  const reply = await call("POST", path, body, key);
  if (reply.status >= 300) throw new Error(`POST ${path}: ${reply.text}`);
  return reply.body;
};
const environment = async (name: string): Promise<string> =>
  (await created("/agent/environments", { name, setup_commands: ["make"] })).environment_id;
const run = async (config: object, key = member): Promise<string> =>
  (await created("/agent/run", { prompt: "SAY: hello", config }, key)).run_id;
const key = async (body: object, owner: string): Promise<string> =>
  (await created("/keys", { name: "test", type: "personal", ...body }, owner)).key;

beforeAll(async () => {
  server = await testServer();
  member = await server.user("member@example.com");
  allowed = await environment("allowed");
  other = await environment("other");
  limited = await key({ limits: { environment_ids: [allowed] } }, member);
  runs.allowed = await run({ environment_id: allowed });
  runs.other = await run({ environment_id: other });
  runs.none = await run({});
});
afterAll(() => server.stop());

describe("a key that is limited to an environment", () => {
  test("creates runs only in this environment", async () => {
    const create = (config: object) => call("POST", "/agent/run", { prompt: "SAY: hello", config });
    expect((await create({ environment_id: allowed })).status).toBe(200);
    for (const config of [{ environment_id: other }, {}, { environment_id: randomUUID() }]) {
      expect((await create(config)).body).toMatchObject({
        status: 403,
        errors: [{ pointer: "/config/environment_id", message: expect.stringContaining("limited to") }],
      });
    }
  });

  test("uses its cloud agent's default only if that is this environment", async () => {
    const createAs = async (environment_id: string) => {
      const { uid } = await created("/agent/identities", { name: "bot", environment_id }, member);
      const agentKey = await key(
        { type: "agent", agent_uid: uid, limits: { environment_ids: [allowed] } },
        member,
      );
      return (await call("POST", "/agent/run", { prompt: "SAY: hello" }, agentKey)).status;
    };
    expect(await createAs(allowed)).toBe(200);
    expect(await createAs(other)).toBe(403);
  });

  test("cannot follow up, change or share runs elsewhere", async () => {
    const followup = { message: "SAY: more", mode: "queue" };
    const { followup_id } = await created(`/agent/runs/${runs.other}/followups`, followup, member);
    for (const id of [runs.other, runs.none]) {
      expect((await call("POST", `/agent/runs/${id}/followups`, followup)).status).toBe(404);
      expect((await call("POST", `/agent/runs/${id}/cancel`)).status).toBe(404);
      expect((await call("POST", `/agent/runs/${id}/share`, {})).status).toBe(404);
      expect((await call("DELETE", `/agent/runs/${id}`)).status).toBe(404);
    }
    const path = `/agent/runs/${runs.other}/followups/${followup_id}`;
    expect((await call("PATCH", path, { message: "SAY: changed" })).status).toBe(404);
    expect((await call("DELETE", path)).status).toBe(404);
    expect((await call("POST", `/agent/runs/${runs.allowed}/followups`, followup)).status).toBe(200);
  });

  test.each(["", "/events", "/transcript", "/followups", "/diff"])(
    "cannot read GET /agent/runs/{id}%s of runs elsewhere",
    async (rest) => {
      expect((await call("GET", `/agent/runs/${runs.allowed}${rest}`)).status).toBe(200);
      for (const id of [runs.other, runs.none])
        expect((await call("GET", `/agent/runs/${id}${rest}`)).status).toBe(404);
    },
  );

  test("cannot open the session page's transcript of runs elsewhere", async () => {
    const open = (id: string) =>
      server.call("GET", `${server.origin}/runs/${id}`, {
        key: limited,
        headers: { accept: "application/json" },
      });
    expect((await open(runs.allowed)).status).toBe(200);
    expect((await open(runs.other)).status).toBe(404);
  });

  test("lists only runs in this environment, whatever the filter", async () => {
    const list = async (query: string): Promise<string[]> =>
      (await call("GET", `/agent/runs${query}`)).body.runs.map(
        ({ agent_config }: { agent_config: { environment_id?: string } }) => agent_config.environment_id,
      );
    expect(new Set(await list(""))).toEqual(new Set([allowed]));
    expect(new Set(await list("?q=hello&sort_by=title"))).toEqual(new Set([allowed]));
    expect(await list(`?environment_id=${other}`)).toEqual([]);
    expect(new Set(await list(`?environment_id=${other}&environment_id=${allowed}`))).toEqual(
      new Set([allowed]),
    );
  });

  test("sees and builds only this environment", async () => {
    const { environments } = (await call("GET", "/agent/environments")).body;
    expect(environments).toMatchObject([{ environment_id: allowed }]);
    const { build_id } = await created(`/agent/environments/${other}/builds`, {}, member);
    for (const path of ["", "/builds", `/builds/${build_id}`, `/builds/${build_id}/events`])
      expect((await call("GET", `/agent/environments/${other}${path}`)).status).toBe(404);
    expect((await call("POST", `/agent/environments/${other}/builds`)).status).toBe(404);
    expect((await call("GET", `/agent/environments/${allowed}`)).status).toBe(200);
    expect((await call("POST", `/agent/environments/${allowed}/builds`)).status).toBe(201);
  });

  test("sees only the skills of this environment", async () => {
    for (const environment_id of [allowed, other]) {
      const skill = { name: environment_id, description: "", skill_spec: `a/b:${environment_id}` };
      await server.db`
        insert into builds (build_id, environment_id, version, config, state, skills, finished_at)
        values (${randomUUID()}, ${environment_id}, 1, '{}', 'READY', ${server.db.json([skill])}, outrider_now())`;
    }
    expect((await call("GET", "/agent/skills")).body.skills).toMatchObject([{ environments: [allowed] }]);
    expect((await call("GET", "/agent/skills", undefined, member)).body.skills).toHaveLength(2);
  });

  test("cannot make another environment the default of a cloud agent", async () => {
    const { uid } = await created("/agent/identities", { name: "bot", environment_id: allowed });
    const requests = [
      ["POST", "/agent/identities", limited],
      ["PUT", `/agent/identities/${uid}`, await key({ limits: { environment_ids: [allowed] } }, server.key)],
    ] as const;
    for (const [method, path, used] of requests) {
      const set = (environment_id: string) => call(method, path, { name: "bot", environment_id }, used);
      expect((await set(other)).body).toMatchObject({
        status: 403,
        errors: [{ pointer: "/environment_id" }],
      });
      expect((await set(allowed)).status).toBeLessThan(300);
    }
  });
});

describe("an admin's key that is limited to an environment", () => {
  let admin: string;
  beforeAll(async () => {
    admin = await key({ limits: { environment_ids: [allowed] } }, server.key);
  });

  test.each([
    ["creates an environment", "POST", "/agent/environments", { name: "new" }],
    ["changes its environment", "PUT", "/agent/environments/{allowed}", { name: "new", secrets: ["TOKEN"] }],
    ["deletes its environment", "DELETE", "/agent/environments/{allowed}", undefined],
    ["changes another environment", "PUT", "/agent/environments/{other}", { name: "new" }],
    ["lists secrets", "GET", "/agent/secrets", undefined],
    ["changes a secret", "PUT", "/agent/secrets/TOKEN", { value: "long enough" }],
    ["deletes a secret", "DELETE", "/agent/secrets/TOKEN", undefined],
    ["creates a key without the limit", "POST", "/keys", { name: "wide", type: "personal" }],
    ["invites an admin", "POST", "/users", { email: "new@example.com", display_name: "New", role: "admin" }],
    ["creates a link to sign in as an admin", "POST", "/users/{me}/link", undefined],
  ])("is rejected if it %s", async (_, method, path, body) => {
    await server.call("PUT", "/agent/secrets/TOKEN", { body: { value: "long enough" } });
    const { uid } = (await call("GET", "/me", undefined, admin)).body;
    const filled = path.replace("{allowed}", allowed).replace("{other}", other).replace("{me}", uid);
    expect((await call(method, filled, body, admin)).status).toBe(403);
  });

  test("cancels and sees only runs in this environment", async () => {
    const dry = { dry_run: true };
    const { remaining } = (await call("POST", "/installation/maintenance/cancel", dry, admin)).body;
    const [{ count }] = (await server.db`
      select count(*)::int from run_state where state = 'QUEUED' and environment_id = ${allowed}`) as [
      { count: number },
    ];
    expect(remaining).toBe(count);

    const workerKey = await key({ type: "worker" }, server.key);
    const worker = { worker_id: randomUUID(), name: "w", version: "0", slots: 100 };
    const claim = { request_id: randomUUID(), worker, free: 100, wait_ms: 0 };
    await call("POST", "/worker/claim", claim, workerKey);
    const listed = async (used: string): Promise<string[]> =>
      (await call("GET", "/workers", undefined, used)).body.workers.flatMap(
        (one: { runs: { run_id: string }[] }) => one.runs.map(({ run_id }) => run_id),
      );
    expect(await listed(server.key)).toEqual(expect.arrayContaining([runs.allowed, runs.other, runs.none]));
    const seen = await listed(admin);
    expect(seen).toContain(runs.allowed);
    expect(seen).not.toContain(runs.other);
    expect(seen).not.toContain(runs.none);
  });
});
