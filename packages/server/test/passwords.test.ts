import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginTry } from "../src/engine/sign-in-tries.ts";
import { type Browser, browser } from "./browser.ts";
import { type TestServer, testServer } from "./server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.stop());
/** Each test begins with addresses that nobody has guessed from. */
const forget = () => server.db`delete from sign_in_tries`;

/** Where this test is, as the server sees it. */
const HERE = "127.0.0.1";
const GOOD = "seven unrelated lamps";
const BETTER = "Großmutter's 3 kettles";

const invited = async (email: string): Promise<Browser> => {
  const { body } = await server.call("POST", "/people", { body: { email, display_name: "Ada Lovelace" } });
  const page = browser(server);
  expect((await page.open(body.link)).status).toBe(200);
  return page;
};
const set = (page: Browser, password: string, current_password?: string) =>
  page.call("PUT", "/auth/password", {
    body: { password, ...(current_password ? { current_password } : {}) },
  });
/** As if the session had been made so much earlier. */
const grown = async (page: Browser, minutes: number) => {
  const { session_id } = (await page.call("GET", "/me")).body.session;
  await server.db`
    update sessions set created_at = created_at - make_interval(mins => ${minutes})
    where session_id = ${session_id}`;
};

describe("a password", () => {
  test("is set after a one-time link, and opens from then on", async () => {
    const page = await invited("first@example.com");
    expect((await set(page, GOOD)).status).toBe(204);
    expect((await page.call("GET", "/me")).body.session.has_password).toBe(true);
    const other = browser(server);
    const { status, body, headers } = await other.signIn("First@Example.com", GOOD);
    expect(status).toBe(200);
    expect(headers.getSetCookie()[0]).toMatch(/^outrider_session=orc_/);
    expect(body).toMatchObject({ email: "first@example.com", session: { signed_in_by: "password" } });
    expect((await other.call("GET", "/me")).status).toBe(200);
    const [row] = await server.db`select password_hash from people where email = 'first@example.com'`;
    expect(row?.password_hash).toMatch(/^\$argon2id\$/);
  });

  test("may be written with composed or separate accents", async () => {
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
  ])("is refused where it %s", async (_, password, words) => {
    const { body } = await server.call("POST", "/people", {
      body: { email: "weak@example.com", display_name: "Ada Lovelace" },
    });
    const page = browser(server);
    await page.open(body.link);
    const reply = await set(page, password);
    expect(reply.status).toBe(400);
    expect(reply.body.errors[0].pointer).toBe("/password");
    expect(reply.body.detail).toContain(words);
    expect(reply.text).not.toContain(password);
    await server.call("DELETE", `/people/${body.person.uid}`);
  });

  test("is changed with the old one, and that ends the other sessions and links", async () => {
    await forget();
    const page = await invited("change@example.com");
    await set(page, GOOD);
    const others = [browser(server), browser(server)];
    for (const other of others) expect((await other.signIn("change@example.com", GOOD)).status).toBe(200);
    const [kept, ended] = others as [Browser, Browser];
    const { uid } = (await kept.call("GET", "/me")).body;
    const { link } = (await server.call("POST", `/people/${uid}/link`)).body;

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

  test("is changed without the old one for ten minutes after a one-time link, and no longer", async () => {
    const page = await invited("lost@example.com");
    await set(page, GOOD);
    expect((await set(page, BETTER)).status).toBe(204);
    await grown(page, 9);
    expect((await set(page, GOOD)).status).toBe(204);
    await grown(page, 1);
    const late = await set(page, BETTER);
    expect(late.status).toBe(403);
    expect(late.body.detail).toContain("less than 10 minutes ago");
    expect((await set(page, BETTER, GOOD)).status).toBe(204);
  });

  test("that nobody has set yet can still be set when the link is long ago", async () => {
    const page = await invited("late@example.com");
    await grown(page, 600);
    expect((await set(page, GOOD)).status).toBe(204);
  });
});

describe("who guesses", () => {
  test("learns nothing: no account, no password yet and a wrong password are one answer", async () => {
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

  test("is stopped after ten tries of an account, also in parallel, and the person after the wait is not", async () => {
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
    await server.db`update sign_in_tries set until = outrider_now()`;
    expect((await browser(server).signIn("target@example.com", GOOD)).status).toBe(200);
  });

  test("is stopped after fifty tries from one address, however many accounts they name", async () => {
    await forget();
    const page = await invited("bystander@example.com");
    await set(page, GOOD);
    // Counted as a sign-in counts them; to hash a hundred passwords would take its time.
    for (let index = 0; index < 50; index++) await beginTry(server.db, `spray${index}@example.com`, HERE);
    expect((await browser(server).signIn("bystander@example.com", GOOD)).status).toBe(429);
    await forget();
    // Who signs in rightly has not guessed.
    for (let index = 0; index < 60; index++) {
      const { succeeded } = await beginTry(server.db, `right${index}@example.com`, HERE);
      await succeeded();
    }
    expect((await browser(server).signIn("bystander@example.com", GOOD)).status).toBe(200);
  });

  test("has one address for a whole IPv6 network, and for an IPv4 address however it is written", async () => {
    await forget();
    let count = 0;
    const from = async (address: string) =>
      beginTry(server.db, `v6-${count++}@example.com`, address).then(
        () => "tried",
        ({ code }) => code,
      );
    for (let index = 1; index <= 50; index++) {
      const same = index % 2 ? `2001:db8::${index}` : `2001:0db8:0:0:${index}::1`;
      expect(await from(same)).toBe("tried");
    }
    expect(await from("2001:db8:0:0:ffff:ffff:ffff:ffff")).toBe("rate_limited");
    expect(await from("2001:db8:0:1::1")).toBe("tried");
    for (let index = 0; index < 50; index++) {
      expect(await from(index % 2 ? "192.0.2.7" : "::ffff:192.0.2.7")).toBe("tried");
    }
    expect(await from("192.0.2.7")).toBe("rate_limited");
    expect(await from("192.0.2.8")).toBe("tried");
  });

  test("begins anew with each right password", async () => {
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
