import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { requireShared, shareRun } from "../../src/engine/runs/shares.ts";
import { startServer } from "../../src/main.ts";
import { deleteExpiredShares } from "../../src/store/runs/shares.ts";
import { attempt, setClock, testEngine } from "../engine.ts";
import { type TestServer, testServer } from "../server.ts";
import { FILE, HIDDEN, PATCH, workedRun } from "./shares/worked-run.ts";

const HOUR = 3_600_000;
const masterKey = { OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };

let server: TestServer;
let member: string;
let other: string;
let worked: Awaited<ReturnType<typeof workedRun>>;

beforeAll(async () => {
  server = await testServer(masterKey);
  member = await server.user("member@example.com");
  other = await server.user("other@example.com");
  worked = await workedRun(server, member);
});
afterAll(() => server.stop());

const makeRun = async (key = server.key) =>
  (await server.call("POST", "/agent/run", { body: { prompt: "x" }, key })).body.run_id as string;
const share = (run: string, { key = server.key, body = {}, headers = {} } = {}) =>
  server.call("POST", `/agent/runs/${run}/share`, { body, key, headers });
const unshare = async (run: string, key = server.key) =>
  (await server.call("DELETE", `/agent/runs/${run}/share`, { key })).status;
const linkTo = async (run: string) => (await share(run)).body.link as string;
/** Calls anonymously, without a key. */
const open = (link: string, accept?: string) =>
  server.call("GET", link, { key: null, headers: accept ? { accept } : {} });
const opens = async (link: string) => (await open(link)).status;
const makeKey = async (body: object, key = server.key) =>
  (await server.call("POST", "/keys", { body: { name: "k", type: "personal", ...body }, key })).body.key;

describe("a share link", () => {
  test("is shown once and stored only as a hash", async () => {
    const run = await makeRun();
    const { status, body } = await share(run);
    expect(status).toBe(201);
    expect(body).toEqual({ link: expect.any(String), expires_at: expect.any(String) });
    const token = body.link.slice(`${server.origin}/shared/`.length);
    expect(body.link).toBe(`${server.origin}/shared/${token}`);
    expect(token).toMatch(/^ors_[0-9A-Za-z]{49}$/);
    const rows = await server.db`select s::text as row from shares s`;
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ row }) => row.includes(token.slice(4)))).toBe(false);
    const item = await server.call("GET", `/agent/runs/${run}`);
    expect(item.body.share).toEqual({ expires_at: body.expires_at });
    expect(item.text).not.toContain(token);
    const listed = (await server.call("GET", "/agent/runs")).body.runs;
    expect(listed.filter((one: object) => "share" in one)).toEqual([]);
  });

  test.each([
    [undefined, 168],
    [1, 1],
    [8_760, 8_760],
  ])("requested for %s hours lasts %i", async (expires_in_hours, hours) => {
    const before = Date.now();
    const { body } = await share(await makeRun(), { body: { expires_in_hours } });
    const lasts = Date.parse(body.expires_at) - before;
    expect(Math.round(lasts / 60_000)).toBe(hours * 60);
  });

  test.each([0, 8_761, 1.5, "24"])("for %j hours is rejected with the field's pointer", async (asked) => {
    const { status, body } = await share(worked.run_id, { body: { expires_in_hours: asked } });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ pointer: "/expires_in_hours" })]]);
  });

  test("is neither created nor returned again when its request is repeated", async () => {
    const run = await makeRun();
    const once = { headers: { "idempotency-key": "share" } };
    const first = await share(run, once);
    const second = await share(run, once);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.headers.get("idempotent-replayed")).toBe("true");
    expect(second.body).toEqual({ expires_at: first.body.expires_at });
    expect(await opens(first.body.link)).toBe(200);
    const [kept] = await server.db`select count(*)::int from idempotency_keys where body like '%ors\\_%'`;
    expect(kept?.count).toBe(0);
  });

  test("ends when it is replaced", async () => {
    const run = await makeRun();
    const [first, second] = [await linkTo(run), await linkTo(run)];
    expect([await opens(first), await opens(second)]).toEqual([404, 200]);
  });

  test("can be ended on every server, and ending it again succeeds", async () => {
    const run = await makeRun();
    const link = await linkTo(run);
    const dataDir = await mkdtemp(join(tmpdir(), "outrider-test-"));
    const environment = {
      DATABASE_URL: server.databaseUrl,
      OUTRIDER_DATA_DIR: dataDir,
      OUTRIDER_PORT: "0",
      OUTRIDER_LOG_LEVEL: "silent",
      ...masterKey,
    };
    const second = await startServer(readConfig({}, environment));
    try {
      const there = link.replace(server.origin, second.origin);
      expect([await opens(link), await opens(there)]).toEqual([200, 200]);
      expect(await unshare(run)).toBe(204);
      expect([await opens(link), await opens(there)]).toEqual([404, 404]);
      expect(await unshare(run)).toBe(204);
      expect((await server.call("GET", `/agent/runs/${run}`)).body).not.toHaveProperty("share");
    } finally {
      await second.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  test("ends with its run", async () => {
    const run = await makeRun();
    const link = await linkTo(run);
    await server.call("POST", `/agent/runs/${run}/cancel`);
    expect((await server.call("DELETE", `/agent/runs/${run}`)).status).toBe(204);
    expect(await opens(link)).toBe(404);
    expect(await server.db`select 1 from shares where run_id = ${run}`).toHaveLength(0);
  });

  test("that has expired is rejected and not shown on the run", async () => {
    const run = await makeRun();
    const link = await linkTo(run);
    await server.db`update shares set expires_at = outrider_now() where run_id = ${run}`;
    expect(await opens(link)).toBe(404);
    expect((await server.call("GET", `/agent/runs/${run}`)).body).not.toHaveProperty("share");
  });
});

test("a link is valid to the last millisecond and is deleted afterwards", async () => {
  const engine = await testEngine({ connections: 1 });
  const run = await engine.create();
  const start = Date.UTC(2030, 0, 1);
  await setClock(engine.db, start);
  const { token, expires_at } = await engine.tx((tx) =>
    shareRun(tx, engine.admin, run, { expires_in_hours: 2 }),
  );
  expect(Date.parse(expires_at)).toBe(start + 2 * HOUR);
  const opened = () => attempt(() => requireShared(engine.db, token));
  await setClock(engine.db, start + 2 * HOUR - 1);
  await deleteExpiredShares(engine.db);
  expect(await opened()).toEqual({ answer: run });
  await setClock(engine.db, start + 2 * HOUR);
  expect(await opened()).toEqual({ refused: "resource_not_found" });
  await deleteExpiredShares(engine.db);
  expect(await engine.db`select 1 from shares`).toHaveLength(0);
  await engine.stop();
});

describe("sharing a run", () => {
  test("is allowed for users who may steer it", async () => {
    const agent_uid = (await server.call("POST", "/agent/identities", { body: { name: "bot" }, key: member }))
      .body.uid;
    const agent = await makeKey({ type: "agent", agent_uid }, member);
    const [own, its] = [await makeRun(member), await makeRun(agent)];
    const mayShare = async (run: string, key: string) => {
      const made = (await share(run, { key })).status;
      const ended = await unshare(run, key);
      return [made, ended];
    };
    expect(await mayShare(own, member)).toEqual([201, 204]);
    expect(await mayShare(its, member)).toEqual([201, 204]);
    expect(await mayShare(its, agent)).toEqual([201, 204]);
    expect(await mayShare(own, server.key)).toEqual([201, 204]);
    expect(await mayShare(own, other)).toEqual([403, 403]);
    expect(await mayShare(its, other)).toEqual([403, 403]);
    expect(await mayShare(own, agent)).toEqual([404, 404]);
  });

  test("is rejected for keys without write or read scope", async () => {
    const run = await makeRun();
    for (const scope of ["runs:read", "runs:write"]) {
      expect((await share(run, { key: await makeKey({ scopes: [scope] }) })).status).toBe(403);
    }
    expect((await share(run, { key: await makeKey({ type: "worker" }) })).status).toBe(403);
    expect(await server.db`select 1 from shares where run_id = ${run}`).toHaveLength(0);
  });

  test("never outlasts the key", async () => {
    const expires_at = new Date(Date.now() + 2 * HOUR).toISOString();
    const key = await makeKey({ expires_at });
    const run = await makeRun();
    expect((await share(run, { key })).body.expires_at).toBe(expires_at);
    expect((await share(run, { key, body: { expires_in_hours: 1 } })).status).toBe(201);
    const { status, body } = await share(run, { key, body: { expires_in_hours: 3 } });
    expect([status, body.errors]).toEqual([403, [expect.objectContaining({ pointer: "/expires_in_hours" })]]);
  });
});

describe("an anonymous reader with a link", () => {
  let link: string;
  beforeAll(async () => {
    link = await linkTo(worked.run_id);
  });

  test.each([
    [undefined, "text/markdown; charset=utf-8"],
    ["text/markdown", "text/markdown; charset=utf-8"],
    ["application/json", "application/json; charset=utf-8"],
    ["application/x-ndjson", "application/x-ndjson; charset=utf-8"],
  ])("that accepts %s gets the transcript as %s", async (accept, type) => {
    const { status, headers, text } = await open(link, accept);
    expect([status, headers.get("content-type")]).toEqual([200, type]);
    for (const shown of ["shown-prompt", "shown-words", "shown-step", "shown_notice", "mcp_server_failed"])
      expect(text).toContain(shown);
  });

  test("gets a page in a browser, which does not leak the URL", async () => {
    const { status, headers } = await open(link, "text/html,application/xhtml+xml,*/*;q=0.8");
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-robots-tag")).toBe("noindex");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  });

  test("can poll for new events, a page at a time", async () => {
    const { events } = (await open(link, "application/json")).body;
    const part = (await open(`${link}?after=1&limit=2`, "application/json")).body;
    expect(part.events).toEqual(events.slice(1, 3));
    const rest = (await open(`${link}?after=${events.length - 1}`, "application/x-ndjson")).text;
    expect(
      rest
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual(events.slice(-1));
    expect((await open(`${link}?after=${events.length}`, "application/json")).body.events).toEqual([]);
  });

  test.each(["after=-1", "limit=1001", "limit=x", "before=2"])(
    "who asks for %s is told what is wrong",
    async (query) => {
      const { status, body } = await open(`${link}?${query}`, "application/json");
      expect([status, body.error_code]).toEqual([400, "invalid_request"]);
      expect(body.detail).toContain(query.split("=")[0]);
    },
  );

  test("that accepts no available media type gets a list of them", async () => {
    const { status, body } = await open(link, "image/png");
    expect([status, body.error_code]).toEqual([406, "not_acceptable"]);
    expect(body.detail).toContain("text/markdown");
  });

  test.each(["text/markdown", "application/json", "application/x-ndjson"])(
    "sees nothing as %s that is the team's alone",
    async (accept) => {
      const { run_id, execution_id } = worked;
      const [run] = await server.db`
        select trace_id, key_id, creator_uid, session_id, environment_id from runs where run_id = ${run_id}`;
      const { trace_id, key_id, creator_uid, session_id } = run as Record<string, string>;
      const secrets = { HIDDEN, execution_id, trace_id, key_id, creator_uid, session_id };
      const whole = await server.call("GET", `/agent/runs/${run_id}/transcript`, {
        headers: { accept: "application/json" },
      });
      for (const name of ["HIDDEN", "creator_uid"] as const)
        expect(whole.text, "the team sees it").toContain(secrets[name]);
      const { text } = await open(link, accept);
      for (const [name, value] of Object.entries(secrets)) expect(text, name).not.toContain(value);
      expect(text).not.toContain("member@example.com");
    },
  );

  test("sees the run's basic fields, and only the names of MCP servers", async () => {
    const { run, events } = (await open(link, "application/json")).body;
    expect(run).toEqual({
      run_id: worked.run_id,
      title: "shown-prompt",
      prompt: "shown-prompt",
      state: "FAILED",
      phase: "done",
      created_at: expect.any(String),
      updated_at: expect.any(String),
      started_at: expect.any(String),
      finished_at: expect.any(String),
      source: "API",
      creator: { type: "user", display_name: "member" },
      status_message: {
        message: "MCP server failed",
        error_code: "mcp_server_failed",
        retryable: false,
      },
      usage: expect.any(Object),
      timings: expect.any(Object),
      artifacts: [
        expect.objectContaining({ artifact_id: worked.artifact_id }),
        expect.objectContaining({ artifact_type: "PATCH" }),
      ],
      turns: 1,
      attempts: 1,
      share: { expires_at: expect.any(String) },
      agent_config: {
        name: "shown-name",
        model_id: "scripted",
        mcp_servers: { shown_http: {}, shown_stdio: {} },
      },
      receipt: {
        harness_version: "1",
        harness: { name: "claude", title: "Claude Code", version: "2.0.0" },
        model_id: "scripted",
        mcp_servers: [{ name: "shown_http", transport: "http", tools: ["shown_tool"] }],
        network: { mode: "allowlist" },
      },
    });
    const all = (await server.call("GET", `/agent/runs/${worked.run_id}/events`)).body.events;
    const numbered = (list: { seq: number; type: string }[]) => list.map(({ seq, type }) => `${seq} ${type}`);
    expect(numbered(events)).toEqual(numbered(all));
  });

  test("can download the diff and the files of this run", async () => {
    const diff = await open(`${link}/diff`);
    expect([diff.status, diff.text]).toEqual([200, PATCH]);
    expect(diff.headers.get("content-type")).toBe("text/x-diff; charset=utf-8");
    const file = await open(`${link}/artifacts/${worked.artifact_id}`);
    expect([file.status, file.text]).toEqual([200, FILE]);
    expect(file.headers.get("content-type")).toBe("application/octet-stream");
    expect(file.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''left%20behind.txt");
    const empty = await open(`${await linkTo(await makeRun())}/diff`);
    expect([empty.status, empty.text]).toEqual([200, ""]);
  });

  test("gets headers that prevent leaking the URL, with every response", async () => {
    const unknown = `${link.slice(0, -1)}${link.endsWith("a") ? "b" : "a"}`;
    const paths = ["", "/diff", `/artifacts/${worked.artifact_id}`];
    for (const address of [link, unknown].flatMap((one) => paths.map((path) => one + path))) {
      const { status, headers } = await open(address);
      expect(status).toBe(address.startsWith(link) ? 200 : 404);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-robots-tag")).toBe("noindex");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("cannot read other runs or anything else", async () => {
    const unshared = await workedRun(server, member);
    expect(await opens(`${link}/artifacts/${unshared.artifact_id}`)).toBe(404);
    expect(await opens(`${link}/artifacts/not-an-id`)).toBe(404);
    const elsewhere = await linkTo(await makeRun());
    expect(await opens(`${elsewhere}/artifacts/${worked.artifact_id}`)).toBe(404);
    for (const path of ["/events", "/transcript", "/followups", `/${unshared.run_id}`, "/artifacts"])
      expect(await opens(link + path)).toBe(404);
    const token = link.split("/").at(-1) as string;
    for (const path of [
      "/me",
      "/agent/runs",
      `/agent/runs/${worked.run_id}`,
      `/agent/runs/${worked.run_id}/diff`,
    ])
      expect((await server.call("GET", path, { key: token })).status).toBe(401);
    expect((await server.call("GET", `${server.origin}/runs/${worked.run_id}`, { key: token })).status).toBe(
      401,
    );
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      expect((await server.call(method, link, { key: null })).status).toBe(405);
  });

  test.each([
    ["a key", () => server.key],
    ["a well-formed token that nobody made", () => `ors_${"0".repeat(43)}000000`],
    ["the id of the run", () => worked.run_id],
    ["the hash of the token", () => "f".repeat(64)],
    ["too long a text", () => "x".repeat(2_000)],
    ["an invalid escape", () => "%zz"],
  ])("is rejected with %s instead of the token", async (_what, token) => {
    const { status, text } = await open(`${server.origin}/shared/${token()}`);
    expect([400, 404]).toContain(status);
    expect(text).not.toContain("shown-prompt");
  });

  test("never gets the token back in an error", async () => {
    const gone = await linkTo(await makeRun());
    const token = gone.split("/").at(-1) as string;
    await server.db`delete from shares where run_id not in (${worked.run_id})`;
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/diff"],
      ["GET", "/elsewhere"],
      ["POST", ""],
    ] as const) {
      const { status, text, body } = await server.call(method, gone + path, { key: null });
      expect(status).toBeGreaterThanOrEqual(404);
      expect(body.instance).toBe(`/shared/{token}${path}`);
      expect(text).not.toContain(token);
    }
  });
});
