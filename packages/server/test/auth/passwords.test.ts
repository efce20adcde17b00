import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countSignInAttempt } from "../../src/engine/auth/sign-in-attempts.ts";
import { type TestServer, testServer } from "../server.ts";
import { type Browser, browser } from "./browser.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());
/** Each test uses new client addresses. */
const forget = () => server.db`delete from sign_in_attempts`;

/** The client address that the server sees. */
const HERE = "127.0.0.1";
const GOOD = "seven unrelated lamps";
const BETTER = "Großmutter's 3 kettles";

const invited = async (email: string): Promise<Browser> => {
  const { body } = await server.call("POST", "/users", { body: { email, display_name: "Ada Lovelace" } });
  const page = browser(server);
  expect((await page.open(body.link)).status).toBe(200);
  return page;
};
const set = (page: Browser, password: string, current_password?: string) =>
  page.call("PUT", "/auth/password", {
    body: { password, ...(current_password ? { current_password } : {}) },
  });
/** Makes the session look older by this much. */
const grown = async (page: Browser, minutes: number) => {
  const { session_id } = (await page.call("GET", "/me")).body.session;
  await server.db`
    update sessions set created_at = created_at - make_interval(mins => ${minutes})
    where session_id = ${session_id}`;
};

describe("a password", () => {
  test("is set after a one-time link and works from then on", async () => {
    const page = await invited("first@example.com");
    expect((await set(page, GOOD)).status).toBe(204);
    expect((await page.call("GET", "/me")).body.session.has_password).toBe(true);
    const other = browser(server);
    const { status, body, headers } = await other.signIn("First@Example.com", GOOD);
    expect(status).toBe(200);
    expect(headers.getSetCookie()[0]).toMatch(/^outrider_session=orc_/);
    expect(body).toMatchObject({ email: "first@example.com", session: { signed_in_by: "password" } });
    expect((await other.call("GET", "/me")).status).toBe(200);
    const [row] = await server.db`select password_hash from users where email = 'first@example.com'`;
    expect(row?.password_hash).toMatch(/^\$argon2id\$/);
  });

  test("may use composed or decomposed accents", async () => {
    const page = await invited("accent@example.com");
    expect((await set(page, "sieben grüne Schlüssel".normalize("NFD"))).status).toBe(204);
    const { status } = await browser(server).signIn("accent@example.com", "sieben grüne Schlüssel");
    expect(status).toBe(200);
  });

  test.each([
    ["is short", "x9#kQ2!vL", "at least 10 characters"],
    ["is long", "x9#kQ2!vLm".repeat(26), "at most 256"],
    ["is common", "password1234", "too easy to guess"],
    ["is a row of keys", "qwertyuiop", "too easy to guess"],
    ["repeats itself", "abcabcabcabcabc", "too easy to guess"],
    ["is the e-mail address", "WEAK@example.com", "too easy to guess"],
    ["is the name", "Ada Lovelace", "too easy to guess"],
    ["is the product's name with a number", "outrider123", "too easy to guess"],
  ])("is rejected if it %s", async (_, password, words) => {
    const { body } = await server.call("POST", "/users", {
      body: { email: "weak@example.com", display_name: "Ada Lovelace" },
    });
    const page = browser(server);
    await page.open(body.link);
    const reply = await set(page, password);
    expect(reply.status).toBe(400);
    expect(reply.body.errors[0].pointer).toBe("/password");
    expect(reply.body.detail).toContain(words);
    expect(reply.text).not.toContain(password);
    await server.call("DELETE", `/users/${body.user.uid}`);
  });

  test("is changed with the old one, which ends other sessions and links", async () => {
    await forget();
    const page = await invited("change@example.com");
    await set(page, GOOD);
    const others = [browser(server), browser(server)];
    for (const other of others) expect((await other.signIn("change@example.com", GOOD)).status).toBe(200);
    const [kept, ended] = others as [Browser, Browser];
    const { uid } = (await kept.call("GET", "/me")).body;
    const { link } = (await server.call("POST", `/users/${uid}/link`)).body;

    const without = await set(kept, BETTER);
    expect([without.status, without.body.errors[0].pointer]).toEqual([403, "/current_password"]);
    const wrong = await set(kept, BETTER, "not the old one");
    expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([403, "/current_password"]);
    expect((await ended.call("GET", "/me")).status).toBe(200);

    expect((await set(kept, BETTER, GOOD)).status).toBe(204);
    expect((await kept.call("GET", "/me")).status).toBe(200);
    for (const over of [page, ended]) expect((await over.call("GET", "/me")).status).toBe(401);
    expect((await browser(server).open(link)).status).toBe(401);
    expect((await browser(server).signIn("change@example.com", GOOD)).status).toBe(401);
    expect((await browser(server).signIn("change@example.com", BETTER)).status).toBe(200);
  });

  test("can be changed without the old one only for ten minutes after a one-time link", async () => {
    const page = await invited("lost@example.com");
    await set(page, GOOD);
    expect((await set(page, BETTER)).status).toBe(204);
    await grown(page, 9);
    expect((await set(page, GOOD)).status).toBe(204);
    await grown(page, 1);
    const late = await set(page, BETTER);
    expect(late.status).toBe(403);
    expect(late.body.detail).toContain("in the last 10 minutes");
    expect((await set(page, BETTER, GOOD)).status).toBe(204);
  });

  test("can be set for the first time long after the link was used", async () => {
    const page = await invited("late@example.com");
    await grown(page, 600);
    expect((await set(page, GOOD)).status).toBe(204);
  });
});

describe("guessing passwords", () => {
  test("reveals nothing: unknown account, no password and wrong password get the same response", async () => {
    await forget();
    const page = await invited("known@example.com");
    await set(page, GOOD);
    await invited("unset@example.com");
    const replies = await Promise.all([
      browser(server).signIn("known@example.com", "a wrong guess"),
      browser(server).signIn("unset@example.com", "a wrong guess"),
      browser(server).signIn("unset@example.com", ""),
      browser(server).signIn("nobody@example.com", "a wrong guess"),
    ]);
    const shown = replies.map(({ status, body: { trace_id: _, ...body }, headers }) => ({
      ...{ status, body, cookies: headers.getSetCookie() },
    }));
    expect(shown[0]).toMatchObject({ status: 401, cookies: [] });
    for (const each of shown) expect(each).toEqual(shown[0]);
  });

  test("is stopped after ten attempts for an account, even in parallel, until the wait is over", async () => {
    await forget();
    const page = await invited("target@example.com");
    await set(page, GOOD);
    for (const email of ["target@example.com", "nobody-at-all@example.com"]) {
      const tries = await Promise.all(
        Array.from({ length: 14 }, (_, index) => browser(server).signIn(email, `a wrong guess ${index}`)),
      );
      expect(tries.map(({ status }) => status).sort()).toEqual([
        ...Array(10).fill(401),
        ...Array(4).fill(429),
      ]);
    }
    const stopped = await browser(server).signIn("TARGET@example.com", GOOD);
    expect([stopped.status, stopped.body.error_code]).toEqual([429, "rate_limited"]);
    const seconds = Number(stopped.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(14 * 60);
    expect(seconds).toBeLessThanOrEqual(15 * 60);
    expect((await set(page, BETTER, GOOD)).status).toBe(429);
    await server.db`update sign_in_attempts set until = outrider_now()`;
    expect((await browser(server).signIn("target@example.com", GOOD)).status).toBe(200);
  });

  test("is stopped after fifty attempts from one address, across accounts", async () => {
    await forget();
    const page = await invited("bystander@example.com");
    await set(page, GOOD);
    // Counted as a sign-in counts them; to hash a hundred passwords would take its time.
    for (let index = 0; index < 50; index++)
      await countSignInAttempt(server.db, `spray${index}@example.com`, HERE);
    expect((await browser(server).signIn("bystander@example.com", GOOD)).status).toBe(429);
    await forget();
    // A correct sign-in does not count as a guess.
    for (let index = 0; index < 60; index++) {
      const { succeeded } = await countSignInAttempt(server.db, `right${index}@example.com`, HERE);
      await succeeded();
    }
    expect((await browser(server).signIn("bystander@example.com", GOOD)).status).toBe(200);
  });

  test("counts an IPv6 network as one address, and an IPv4 address in any notation", async () => {
    await forget();
    let count = 0;
    const from = async (address: string) =>
      countSignInAttempt(server.db, `v6-${count++}@example.com`, address).then(
        () => "tried",
        ({ code }) => code,
      );
    for (let index = 1; index <= 50; index++) {
      const same = index % 2 ? `2001:db8::${index}` : `2001:0db8:0:0:${index}::1`;
      expect(await from(same)).toBe("tried");
    }
    expect(await from("2001:db8:0:0:ffff:ffff:ffff:ffff")).toBe("rate_limited");
    expect(await from("2001:db8:0:1::1")).toBe("tried");
    const notations = ["192.0.2.7", "::ffff:192.0.2.7", "::ffff:c000:207"];
    for (let index = 0; index < 50; index++) {
      expect(await from(notations[index % 3] as string)).toBe("tried");
    }
    expect(await from("192.0.2.7")).toBe("rate_limited");
    expect(await from("192.0.2.8")).toBe("tried");
  });

  test("resets its count with each correct password", async () => {
    await forget();
    const page = await invited("clumsy@example.com");
    await set(page, GOOD);
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < 9; index++)
        await browser(server).signIn("clumsy@example.com", "a wrong guess");
      expect((await browser(server).signIn("clumsy@example.com", GOOD)).status).toBe(200);
    }
  });
});
