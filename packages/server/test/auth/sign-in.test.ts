import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openFolder } from "../../src/blobs/folder.ts";
import { readConfig } from "../../src/config.ts";
import { openBlobs } from "../../src/engine/blobs.ts";
import { clean } from "../../src/engine/operations/cleanup.ts";
import { keepAll } from "../../src/engine/operations/retention.ts";
import { startServer } from "../../src/main.ts";
import { recordSessionUse } from "../../src/store/auth/sessions.ts";
import { type TestServer, testServer } from "../server.ts";
import { browser, tokenOf } from "./browser.ts";

const masterKey = { OUTRIDER_MASTER_KEY: Buffer.alloc(32, 7).toString("base64") };
let server: TestServer;
/** Another server on the same database. */
let second: { origin: string; stop(): Promise<void> };
let folder: string;

beforeAll(async () => {
  server = await testServer(masterKey);
  folder = await mkdtemp(join(tmpdir(), "outrider-test-"));
  const settings = { OUTRIDER_DATA_DIR: folder, OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent" };
  const environment = { ...masterKey, ...settings, DATABASE_URL: server.databaseUrl };
  second = await startServer(readConfig({}, environment));
});
afterAll(async () => {
  await second.stop();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const invited = async (email: string, role = "member") => {
  const body = { email, display_name: email.split("@")[0], role };
  return (await server.call("POST", "/users", { body })).body as {
    user: { uid: string };
    link: string;
    expires_at: string;
  };
};
/** Creates a browser in which a new user is signed in with the invitation link. */
const signedIn = async (email: string, role = "member") => {
  const page = browser(server);
  const { user, link } = await invited(email, role);
  expect((await page.open(link)).status).toBe(200);
  return { page, uid: user.uid };
};
const elsewhere = (method: string, path: string, cookie: string) =>
  server.call(method, `${second.origin}/api/v1${path}`, {
    key: null,
    headers: { cookie, origin: second.origin },
  });

describe("a one-time link", () => {
  test("of the first start signs in the first admin, on a page that keeps the token out of requests", async () => {
    expect(server.firstLink).toMatch(new RegExp(`^${server.origin}/login#token=orl_[0-9A-Za-z]{49}$`));
    const page = browser(server);
    const { status, body } = await page.open(server.firstLink);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      type: "user",
      email: "admin@localhost",
      role: "admin",
      session: { signed_in_by: "link", has_password: false },
    });
    expect(body.key).toBeUndefined();
    expect((await page.call("GET", "/me")).body).toMatchObject(body);
  });

  test("works once, on any server, for one of many concurrent attempts", async () => {
    const { link } = await invited("once@example.com");
    const token = tokenOf(link);
    const tries = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        server.call("POST", `${index % 2 ? second.origin : server.origin}/api/v1/auth/link`, {
          key: null,
          body: { token },
        }),
      ),
    );
    const statuses = tries.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(7).fill(401)]);
  });

  test("is rejected with the same message when used, unknown, truncated, replaced or expired", async () => {
    const page = browser(server);
    const { user, link } = await invited("words@example.com");
    const { body: replacement } = await server.call("POST", `/users/${user.uid}/link`);
    const replaced = await page.open(link);
    await server.db`update sign_in_links set expires_at = outrider_now() where user_uid = ${user.uid}`;
    const late = await page.open(replacement.link);
    const cut = await page.open(link.slice(0, -1));
    for (const reply of [replaced, late, cut]) {
      expect(reply.status).toBe(401);
      expect(reply.body.detail).toBe(replaced.body.detail);
      expect(reply.headers.getSetCookie()).toEqual([]);
    }
  });

  test("lasts a week for an invitation and a day for a replacement", async () => {
    const { user, expires_at } = await invited("times@example.com");
    const hoursUntil = (time: string) => Math.round((Date.parse(time) - Date.now()) / 3_600_000);
    expect(hoursUntil(expires_at)).toBe(168);
    const { body } = await server.call("POST", `/users/${user.uid}/link`);
    expect(hoursUntil(body.expires_at)).toBe(24);
  });

  test("is stored only as a hash, and so is the cookie", async () => {
    const { page } = await signedIn("hash@example.com");
    const { link } = await invited("hash2@example.com");
    const [row] = await server.db`
      select (select string_agg(l::text, '') from sign_in_links l) || (select string_agg(s::text, '') from sessions s)
        as text`;
    for (const secret of [tokenOf(link), page.cookie.split("=")[1] as string]) {
      const hex = Buffer.from(secret).toString("hex");
      expect(row?.text).not.toContain(secret);
      expect(row?.text).not.toContain(hex);
    }
  });
});

test("password attempts are limited across servers", async () => {
  const guess = (origin: string) =>
    server.call("POST", `${origin}/api/v1/auth/sign-in`, {
      key: null,
      body: { email: "two-servers@example.com", password: "a wrong guess" },
    });
  const origins = Array.from({ length: 12 }, (_, index) => (index % 2 ? second.origin : server.origin));
  const statuses = (await Promise.all(origins.map(guess))).map(({ status }) => status);
  expect(statuses.sort()).toEqual([...Array(10).fill(401), 429, 429]);
});

test("deletes expired links and attempts, and sessions a day later", async () => {
  const [open, over, past] = await Promise.all(
    ["open", "over", "past"].map((name) => signedIn(`${name}-cleanup@example.com`)),
  );
  const { user } = await invited("link-cleanup@example.com");
  await over?.page.call("POST", "/auth/sign-out");
  await past?.page.call("POST", "/auth/sign-out");
  await server.db`
    update sessions set ended_at = ended_at - interval '25 hours' where user_uid = ${past?.uid as string}`;
  await server.db`update sign_in_links set expires_at = outrider_now() where user_uid = ${user.uid}`;
  await server.db`
    insert into sign_in_attempts values ('\\x01', 1, outrider_now()), ('\\x02', 1, outrider_now() + interval '1 hour')`;
  const { db, dataDir } = server;
  const blobs = openBlobs(openFolder(join(dataDir, "blobs")), db);
  await clean({ db, blobs, retention: keepAll, log: pino({ level: "silent" }) }, { collectsBlobs: false });
  const uids = [open, over, past].map((each) => each?.uid as string);
  const sessions = await server.db`select user_uid from sessions where user_uid = any(${uids}::uuid[])`;
  expect(sessions.map(({ user_uid }) => user_uid).sort()).toEqual([open?.uid, over?.uid].sort());
  expect(await server.db`select 1 from sign_in_links where user_uid = ${user.uid}`).toHaveLength(0);
  const tries = await server.db`select subject from sign_in_attempts where subject in ('\\x01', '\\x02')`;
  expect(tries.map(({ subject }) => subject.toString("hex"))).toEqual(["02"]);
});

describe("the cookie", () => {
  test("is not accessible to scripts and other sites, and requires TLS if the public URL has it", async () => {
    const { link } = await invited("attributes@example.com");
    const plain = (await browser(server).open(link)).headers.getSetCookie();
    expect(plain).toHaveLength(1);
    expect(plain[0]).toMatch(
      /^outrider_session=orc_[0-9A-Za-z]{49}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/,
    );
    const secure = await testServer({ OUTRIDER_PUBLIC_URL: "https://agents.example.com" });
    try {
      const page = browser(secure, "https://agents.example.com");
      expect(secure.firstLink).toMatch(/^https:\/\/agents\.example\.com\/login#token=/);
      const [set] = (await page.open(secure.firstLink)).headers.getSetCookie();
      expect(set).toMatch(
        /^__Host-outrider_session=orc_\w{49}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax; Secure$/,
      );
      expect((await page.call("GET", "/me")).status).toBe(200);
      const unprefixed = page.cookie.replace("__Host-", "");
      expect((await secure.call("GET", "/me", { key: null, headers: { cookie: unprefixed } })).status).toBe(
        401,
      );
    } finally {
      await secure.stop();
    }
  });

  test("is found among other cookies, and a wrong one is rejected", async () => {
    const { page } = await signedIn("others@example.com");
    const ask = async (cookie: string) =>
      (await server.call("GET", "/me", { key: null, headers: { cookie } })).status;
    expect(await ask(`a=1; ${page.cookie}; b=2`)).toBe(200);
    expect(await ask(`a${page.cookie}`)).toBe(401);
    expect(await ask(page.cookie.slice(0, -1))).toBe(401);
    expect(await ask("outrider_session=")).toBe(401);
  });

  test("is ignored if a key is sent too", async () => {
    const { page } = await signedIn("both@example.com", "admin");
    const key = await server.user("both-key@example.com");
    const { body } = await page.call("GET", "/me", { key });
    expect(body).toMatchObject({ email: "both-key@example.com", key: { type: "personal" } });
    expect(body.session).toBeUndefined();
    const foreign = { origin: "https://evil.example" };
    expect((await page.call("GET", "/users", { key })).status).toBe(403);
    expect(
      (await page.call("POST", "/agent/run", { key, headers: foreign, body: { prompt: "x" } })).status,
    ).toBe(200);
    expect((await page.call("GET", "/me", { key: "nonsense" })).status).toBe(401);
  });
});

describe("a request with a session that changes something", () => {
  const own = () => server.origin;
  const table: [string, () => Record<string, string>, number][] = [
    ["from our own origin", () => ({ origin: own() }), 200],
    ["that the browser calls same-origin", () => ({ "sec-fetch-site": "same-origin" }), 200],
    [
      "that the browser calls same-origin, under another name of ours",
      () => ({ origin: own().replace("127.0.0.1", "localhost"), "sec-fetch-site": "same-origin" }),
      200,
    ],
    ["from another origin", () => ({ origin: "https://evil.example" }), 403],
    ["from our host by another scheme", () => ({ origin: own().replace("http:", "https:") }), 403],
    ["from our host at another port", () => ({ origin: "http://127.0.0.1:1" }), 403],
    ["from an origin that begins as ours", () => ({ origin: `${own()}.evil.example` }), 403],
    ["from a page without an origin", () => ({ origin: "null" }), 403],
    ["that the browser calls cross-site", () => ({ "sec-fetch-site": "cross-site" }), 403],
    ["from a neighbouring host", () => ({ "sec-fetch-site": "same-site" }), 403],
    ["that says nothing about where it comes from", () => ({}), 403],
  ];
  for (const [name, headers, status] of table) {
    test(`${name} gets ${status}`, async () => {
      const { page } = await signedIn(`csrf-${table.findIndex(([each]) => each === name)}@example.com`);
      const ask = (method: string, path: string, body?: object) =>
        server.call(method, path, { key: null, body, headers: { cookie: page.cookie, ...headers() } });
      const reply = await ask("POST", "/agent/run", { prompt: "x" });
      expect(reply.status).toBe(status);
      if (status === 403) {
        expect(reply.body).toMatchObject({ error_code: "not_authorized" });
        expect(reply.body.detail).toContain("Only pages of");
      }
      expect((await ask("GET", "/me")).status).toBe(200);
      expect((await ask("DELETE", "/keys/00000000-0000-7000-8000-000000000000")).status).toBe(
        status === 200 ? 404 : 403,
      );
      expect((await ask("POST", "/auth/sign-out")).status).toBe(status === 200 ? 204 : 403);
      expect((await ask("GET", "/me")).status).toBe(status === 200 ? 401 : 200);
    });
  }

  test("another site cannot sign in its visitor as another user", async () => {
    const { link } = await invited("login-csrf@example.com");
    const headers = { origin: "https://evil.example" };
    const body = { token: tokenOf(link) };
    expect((await server.call("POST", "/auth/link", { key: null, body, headers })).status).toBe(403);
    expect((await server.call("POST", "/auth/link", { key: null, body })).status).toBe(200);
  });
});

describe("a session", () => {
  test("creates runs with source WEB_APP for its user, and reads them", async () => {
    const { page, uid } = await signedIn("runs@example.com");
    const { status, body } = await page.call("POST", "/agent/run", {
      body: { prompt: "x" },
      headers: { "x-outrider-client": "cli/1" },
    });
    expect(status).toBe(200);
    const run = (await page.call("GET", `/agent/runs/${body.run_id}`)).body;
    expect(run).toMatchObject({ source: "WEB_APP", creator: { type: "user", uid } });
    expect((await page.call("POST", `/agent/runs/${body.run_id}/cancel`)).status).toBe(200);
  });

  test("has the permissions of its user's role, and changes apply to the next request", async () => {
    const { page, uid } = await signedIn("role@example.com");
    expect((await page.call("GET", "/users")).status).toBe(403);
    await server.call("PATCH", `/users/${uid}`, { body: { role: "admin" } });
    expect((await page.call("GET", "/users")).status).toBe(200);
    await server.call("PATCH", `/users/${uid}`, { body: { role: "member" } });
    expect((await page.call("GET", "/users")).status).toBe(403);
  });

  test("creates keys and share links that outlive it", async () => {
    const { page } = await signedIn("outlast@example.com");
    const key = await page.call("POST", "/keys", { body: { name: "laptop", type: "personal" } });
    expect(key.status).toBe(201);
    expect(key.body.expires_at).toBeUndefined();
    expect(key.body.scopes).toEqual(["runs:read", "runs:write"]);
    const run = (await page.call("POST", "/agent/run", { body: { prompt: "x" } })).body.run_id;
    const share = await page.call("POST", `/agent/runs/${run}/share`, { body: { expires_in_hours: 8_000 } });
    expect(share.status).toBe(201);
    expect((await page.call("POST", "/auth/sign-out")).status).toBe(204);
    expect((await server.call("GET", "/me", { key: key.body.key })).status).toBe(200);
    expect((await server.call("GET", share.body.link, { key: null })).status).toBe(200);
  });

  test("ends at once on every server when it signs out, with its streams", async () => {
    const { page } = await signedIn("out@example.com");
    const { cookie } = page;
    const run = (await page.call("POST", "/agent/run", { body: { prompt: "x" } })).body.run_id;
    const streams = await Promise.all(
      [`/agent/runs/${run}/events`, "/agent/runs"].map((path) =>
        fetch(`${second.origin}/api/v1${path}`, { headers: { cookie, accept: "text/event-stream" } }),
      ),
    );
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const ends = streams.map((stream) => stream.text());
    expect((await elsewhere("GET", "/me", cookie)).status).toBe(200);
    const out = await page.call("POST", "/auth/sign-out");
    expect(out.status).toBe(204);
    expect(out.headers.getSetCookie()).toEqual([
      "outrider_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax",
    ]);
    expect((await elsewhere("GET", "/me", cookie)).status).toBe(401);
    expect((await server.call("GET", "/me", { key: null, headers: { cookie } })).status).toBe(401);
    await Promise.all(ends);
    expect((await page.call("POST", "/auth/sign-out")).status).toBe(204);
  });

  test("lasts two weeks without use, and ninety days at most", async () => {
    const { page } = await signedIn("sliding@example.com");
    const { session } = (await page.call("GET", "/me")).body;
    const daysUntil = (time: string) => Math.round((Date.parse(time) - Date.now()) / 86_400_000);
    expect(daysUntil(session.expires_at)).toBe(14);
    const age = (days: number) => server.db`
      update sessions set created_at = created_at - make_interval(days => ${days}),
        expires_at = expires_at - make_interval(days => ${days}) where session_id = ${session.session_id}`;
    const use = () => recordSessionUse(server.db, [session.session_id]);
    const left = async () => daysUntil((await page.call("GET", "/me")).body.session.expires_at);
    await age(10);
    expect(await left()).toBe(4);
    await use();
    expect(await left()).toBe(14);
    for (let days = 10; days < 80; days += 10) {
      await age(10);
      await use();
    }
    await age(6);
    await use();
    expect(await left()).toBe(4);
    await age(5);
    await use();
    expect((await page.call("GET", "/me")).status).toBe(401);
  });

  test("cannot be used for calls that require a key", async () => {
    const reply = await server.call("POST", "/auth/sign-out");
    expect(reply.status).toBe(400);
    expect(reply.body.detail).toContain("Omit the `Authorization` header");
    const body = { password: "unrelated words here" };
    expect((await server.call("PUT", "/auth/password", { key: null, body })).status).toBe(401);
  });
});

test("a user changes the address to sign in with, unless another user has it", async () => {
  const { page } = await signedIn("before@example.com");
  await signedIn("taken@example.com");
  const taken = await page.call("PUT", "/auth/email", { body: { email: "Taken@example.com" } });
  expect(taken.status).toBe(409);
  expect(taken.body.errors[0]).toMatchObject({ pointer: "/email", message: /already in use/ });
  expect((await page.call("PUT", "/auth/email", { body: { email: "after@example.com" } })).status).toBe(204);
  expect((await page.call("GET", "/me")).body.email).toBe("after@example.com");
  const key = await server.call("PUT", "/auth/email", { body: { email: "key@example.com" } });
  expect(key.status).toBe(400);
});
