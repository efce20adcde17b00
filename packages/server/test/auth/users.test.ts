import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renewLocalWorkerKey } from "../../src/engine/operations/bootstrap.ts";
import { type TestServer, testServer } from "../server.ts";
import { browser } from "./browser.ts";

let server: TestServer;
let adminUid: string;

beforeAll(async () => {
  server = await testServer();
  adminUid = (await server.call("GET", "/me")).body.uid;
});
afterAll(() => server.stop());

const invite = (email: string, more: object = {}, headers: Record<string, string> = {}) =>
  server.call("POST", "/users", { body: { email, display_name: "Somebody", ...more }, headers });
const users = async () => (await server.call("GET", "/users")).body.users as Record<string, unknown>[];
const meOf = async (key: string) => (await server.call("GET", "/me", { key })).status;

describe("users", () => {
  test("are invited as members by default, and listed by email address", async () => {
    const { status, body } = await invite("zoe@example.com", { display_name: "Zoë" });
    expect(status).toBe(201);
    const zoe = { email: "zoe@example.com", display_name: "Zoë", role: "member", has_password: false };
    expect(body).toEqual({
      user: { uid: expect.any(String), created_at: expect.any(String), ...zoe },
      link: expect.stringMatching(/\/login#token=orl_/),
      expires_at: expect.any(String),
    });
    await invite("Bob@example.com", { role: "admin" });
    const listed = await users();
    expect(listed.map(({ email }) => email)).toEqual([
      "admin@localhost",
      "Bob@example.com",
      "zoe@example.com",
    ]);
    expect(listed.map(({ role }) => role)).toEqual(["admin", "admin", "member"]);
    expect(JSON.stringify(listed)).not.toContain("orl_");
  });

  test("have unique email addresses, regardless of case", async () => {
    await invite("twin@example.com");
    const { status, body } = await invite("TWIN@example.com");
    expect([status, body.error_code]).toEqual([409, "conflict"]);
    expect(body.errors).toEqual([{ pointer: "/email", message: "is already in use" }]);
  });

  test.each([
    ["an address without a host", { email: "nobody", display_name: "N" }, "/email"],
    ["an address with a space", { email: "no body@example.com", display_name: "N" }, "/email"],
    ["no name", { email: "n@example.com" }, "/display_name"],
    ["an unknown role", { email: "n@example.com", display_name: "N", role: "owner" }, "/role"],
    ["an unknown member", { email: "n@example.com", display_name: "N", password: "x" }, "/password"],
  ])("cannot be invited with %s", async (_, body, pointer) => {
    const reply = await server.call("POST", "/users", { body });
    expect(reply.status).toBe(400);
    expect(reply.body.errors[0].pointer).toBe(pointer);
  });

  test("are invited once by a repeated request, which returns the link once", async () => {
    const headers = { "idempotency-key": "invite-twice" };
    const first = await invite("twice@example.com", {}, headers);
    const again = await invite("twice@example.com", {}, headers);
    const { link, ...rest } = first.body;
    expect(link).toContain("orl_");
    expect([again.status, again.body]).toEqual([201, rest]);
    const path = `/users/${rest.user.uid}/link`;
    const made = await server.call("POST", path, { headers });
    const replayed = await server.call("POST", path, { headers });
    expect(Object.keys(made.body).sort()).toEqual(["expires_at", "link"]);
    expect(replayed.body).toEqual({ expires_at: made.body.expires_at });
    const [kept] = await server.db`select string_agg(body, '') as text from idempotency_keys`;
    expect(kept?.text).not.toContain("orl_");
  });

  test("can be managed only by admins", async () => {
    const member = await server.user("member@example.com");
    const narrow = { name: "narrow", type: "personal", scopes: ["runs:read", "runs:write"] };
    const { key: narrowed } = (await server.call("POST", "/keys", { body: narrow })).body;
    for (const key of [member, narrowed]) {
      const replies = await Promise.all([
        server.call("GET", "/users", { key }),
        server.call("POST", "/users", { key, body: { email: "x@example.com", display_name: "X" } }),
        server.call("PATCH", `/users/${adminUid}`, { key, body: { role: "member" } }),
        server.call("DELETE", `/users/${adminUid}`, { key }),
        server.call("POST", `/users/${adminUid}/link`, { key }),
      ]);
      expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    }
  });

  test("change only in the given fields", async () => {
    const { uid } = (await invite("change@example.com")).body.user;
    const named = await server.call("PATCH", `/users/${uid}`, { body: { display_name: "New" } });
    expect(named.body).toMatchObject({ display_name: "New", role: "member" });
    const raised = await server.call("PATCH", `/users/${uid}`, { body: { role: "admin" } });
    expect(raised.body).toMatchObject({ display_name: "New", role: "admin" });
    expect((await server.call("PATCH", `/users/${uid}`, { body: {} })).body).toEqual(raised.body);
    const email = await server.call("PATCH", `/users/${uid}`, { body: { email: "other@example.com" } });
    expect(email.status).toBe(400);
  });

  test("that do not exist are not found", async () => {
    const path = "/users/00000000-0000-7000-8000-000000000000";
    const replies = await Promise.all([
      server.call("PATCH", path, { body: { role: "member" } }),
      server.call("DELETE", path),
      server.call("POST", `${path}/link`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([404, 404, 404]);
  });
});

describe("a deleted user", () => {
  test("loses sessions, keys, links and streams at once, and keeps the runs", async () => {
    const { user, link } = (await invite("leaver@example.com")).body;
    const page = browser(server);
    await page.open(link);
    const { key } = (await page.call("POST", "/keys", { body: { name: "k", type: "personal" } })).body;
    const agent = (await page.call("POST", "/agent/identities", { body: { name: "left behind" } })).body;
    const ofAgent = { name: "a", type: "agent", agent_uid: agent.uid };
    const { key: agentKey } = (await page.call("POST", "/keys", { body: ofAgent })).body;
    const run = (await page.call("POST", "/agent/run", { body: { prompt: "x" } })).body.run_id;
    const again = (await server.call("POST", `/users/${user.uid}/link`)).body.link;
    const streams = await Promise.all(
      [{ cookie: page.cookie }, { authorization: `Bearer ${key}` }].map((headers) =>
        fetch(`${server.base}/agent/runs/${run}/events`, {
          headers: { ...headers, accept: "text/event-stream" } as Record<string, string>,
        }),
      ),
    );
    const ends = streams.map((stream) => stream.text());
    expect([await meOf(key), await meOf(agentKey)]).toEqual([200, 200]);

    expect((await server.call("DELETE", `/users/${user.uid}`)).status).toBe(204);
    expect([await meOf(key), await meOf(agentKey)]).toEqual([401, 401]);
    expect((await page.call("GET", "/me")).status).toBe(401);
    expect((await browser(server).open(again)).status).toBe(401);
    await Promise.all(ends);
    expect((await users()).some(({ uid }) => uid === user.uid)).toBe(false);
    const kept = (await server.call("GET", `/agent/runs/${run}`)).body;
    expect(kept.creator).toMatchObject({ uid: user.uid, email: "leaver@example.com" });
    const found = await server.call("GET", "/agent/runs?creator=leaver%40example.com");
    expect(found.body.runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual([run]);
    expect((await server.call("DELETE", `/users/${user.uid}`)).status).toBe(404);

    // The cloud agent has a new owner, whose keys work.
    const made = await server.call("POST", "/keys", { body: ofAgent });
    expect(await meOf(made.body.key)).toBe(200);
    expect((await server.call("GET", `/agent/identities/${agent.uid}`)).body.owner_uid).toBe(adminUid);
    // The email address can be used again.
    const anew = (await invite("leaver@example.com")).body.user;
    expect(anew.uid).not.toBe(user.uid);
  });

  test("loses every key except those of local workers", async () => {
    const own = await testServer();
    try {
      const first = (await own.call("GET", "/me")).body.uid;
      const local = await renewLocalWorkerKey(own.db);
      const body = { name: "rack", type: "worker" };
      const rack = (await own.call("POST", "/keys", { body })).body.key as string;
      const heir = await own.user("heir@example.com", "admin");
      const beat = async (key: string) =>
        (
          await own.call("GET", "/worker/signals?worker_id=none", {
            key,
            headers: { accept: "application/json" },
          })
        ).status;
      const known = [await beat(local), await beat(rack)];
      expect(known).not.toContain(401);
      expect((await own.call("DELETE", `/users/${first}`, { key: heir })).status).toBe(204);
      expect([await beat(local), await beat(rack)]).toEqual([known[0], 401]);
    } finally {
      await own.stop();
    }
  });
});

describe("the last admin", () => {
  test("cannot be demoted or deleted, even if two admins do it to each other at once", async () => {
    const own = await testServer();
    try {
      const first = (await own.call("GET", "/me")).body.uid;
      for (const [method, body] of [["PATCH", { role: "member" }], ["DELETE"]] as const) {
        const reply = await own.call(method, `/users/${first}`, { body });
        expect([reply.status, reply.body.error_code]).toEqual([409, "conflict"]);
        expect(reply.body.detail).toContain("Make another user an admin first");
      }
      expect((await own.call("PATCH", `/users/${first}`, { body: { role: "admin" } })).status).toBe(200);
      for (let round = 0; round < 5; round++) {
        const other = await own.user(`other${round}@example.com`, "admin");
        const { uid } = (await own.call("GET", "/me", { key: other })).body;
        const replies = await Promise.all([
          own.call("PATCH", `/users/${uid}`, { body: { role: "member" } }),
          own.call("PATCH", `/users/${first}`, { key: other, body: { role: "member" } }),
        ]);
        expect(replies.map(({ status }) => status).sort()).not.toEqual([200, 200]);
        const [row] = await own.db`select count(*)::int as admins from users where role = 'admin'`;
        expect(row?.admins).toBe(1);
        await own.db`update users set role = case when uid = ${first} then 'admin' else 'member' end`;
      }
    } finally {
      await own.stop();
    }
  });
});
