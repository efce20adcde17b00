import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { copied } from "./clipboard.ts";
import { comeInByLink, invite, linkFor, PASSWORD, withoutRefusals } from "./people.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const strange = { signedIn: false };
const path = (url: string) => url.slice(world.origin.length);

describe("the first sign-in", () => {
  test("a one-time link leads to a password, the welcome, and a finished first run", async () => {
    const { page, context, complaints } = await world.visit(path(await linkFor(world)), strange);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Welcome, Admin" }).waitFor();
    expect(page.url()).not.toContain("token");
    await page.getByLabel("New password").fill("password123");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page
      .getByRole("alert")
      .getByText(/too easy to guess/)
      .waitFor();
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Set the password" }).click();

    await page.getByRole("heading", { name: "Welcome to Outrider" }).waitFor();
    await page.getByText("no LLM").waitFor();
    await page.getByRole("heading", { name: "No worker is there yet" }).waitFor();
    await expectAccessible(page);
    await world.worker();
    await page.getByRole("heading", { name: "A worker is ready" }).waitFor();
    await page.getByRole("button", { name: "Start the first run" }).click();
    await page.getByText("$ sh hello.sh").waitFor();
    await page
      .getByText(/Hello from a sandbox/)
      .last()
      .waitFor();
    await page.getByRole("heading", { name: "Your first run is finished" }).waitFor();
    await expectAccessible(page);
    for (const next of ["Make an environment", "Make a key", "Invite people"]) {
      await page.getByRole("link", { name: next }).waitFor();
    }
    const { runs } = (await world.call("GET", "/agent/runs?limit=1")).body;
    expect(runs[0]).toMatchObject({ title: "First run", state: "SUCCEEDED", source: "WEB_APP" });
    expect(withoutRefusals(complaints)).toEqual(complaints.filter((text) => /status of 400/.test(text)));

    // Never in the way again.
    await page.goto("/login");
    await page.waitForURL(`${world.origin}/`);
    await context.close();
  });
});

describe("sign-in", () => {
  test("a password leads to what was asked for, and a wrong one is told from nothing else", async () => {
    const { page, context, complaints } = await world.visit("/login?next=%2Fkeys%3Fshow%3Dmine", strange);
    await page.getByLabel("E-mail address").fill("admin@localhost");
    await page.getByLabel("Password").fill("not the password");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The e-mail address or the password is not right.").waitFor();
    expect(await page.getByLabel("E-mail address").inputValue()).toBe("admin@localhost");
    await expectAccessible(page);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    expect(page.url()).toBe(`${world.origin}/keys?show=mine`);
    expect(withoutRefusals(complaints)).toEqual([]);

    await page.goto("/login");
    await page.waitForURL(`${world.origin}/`);
    await context.close();
  });

  test("only places of our own are gone on to", async () => {
    const { page, context } = await world.visit("/keys");
    const elsewhere = [
      "https://example.com/",
      "//example.com",
      "/\\example.com",
      "/.//example.com",
      "/login",
      "javascript:0",
    ];
    for (const next of elsewhere) {
      await page.goto(`/login?next=${encodeURIComponent(next)}`);
      await page.waitForURL(({ pathname }) => pathname === "/" || pathname === "/welcome");
      expect(new URL(page.url()).origin).toBe(world.origin);
    }
    await context.close();
  });

  test("a link that was spent says so, and offers the other way in", async () => {
    const link = path(await linkFor(world));
    const first = await world.visit(link, strange);
    await first.page.getByRole("button", { name: "Sign in" }).click();
    await first.page.waitForURL(`${world.origin}/`);
    await first.context.close();
    const { page, context } = await world.visit(link, strange);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/it was used, replaced, or its time is over/)
      .waitFor();
    await page.getByRole("button", { name: "Use a password instead" }).click();
    await page.getByLabel("Password").waitFor();
    await context.close();
  });

  test("too many tries are told when to come back", async () => {
    await invite(world, "guessed@example.com", "Guessed");
    const { page, context } = await world.visit("/login", strange);
    await page.getByLabel("E-mail address").fill("guessed@example.com");
    const guess = (password: string) =>
      fetch(`${world.origin}/api/v1/auth/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email: "guessed@example.com", password }),
      });
    for (let tries = 0; tries < 10; tries += 1) await guess(`guess ${tries}`);
    await page.getByLabel("Password").fill("one more guess");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/Try again in \d+ minutes/)
      .waitFor();
    await context.close();
  });

  test("a page behind the door leads to sign-in and back, and signing out closes it", async () => {
    const { page, context } = await world.visit("/settings?section=models", strange);
    await page.waitForURL(/\/login\?next=/);
    await page.getByLabel("E-mail address").fill("admin@localhost");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${world.origin}/settings?section=models`);
    await page.getByRole("link", { name: "You" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${world.origin}/login`);
    await page.goto("/keys");
    await page.waitForURL(/\/login\?next=/);
    await context.close();
  });
});

describe("people", () => {
  test("an admin invites somebody into a second browser, changes the role, and removes them, which signs them out", async () => {
    const admin = await world.visit(path(await linkFor(world)), strange);
    await admin.page.getByRole("button", { name: "Sign in" }).click();
    await admin.page.waitForURL(`${world.origin}/`);
    await admin.page.goto("/settings?section=people");
    await admin.page.getByRole("button", { name: "Invite" }).click();
    const dialog = admin.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Reviewer");
    await dialog.getByLabel("E-mail address").fill("reviewer@example.com");
    await dialog.getByRole("button", { name: "Make the link" }).click();
    await dialog.getByRole("heading", { name: "Sign-in link for Reviewer" }).waitFor();
    await expectAccessible(admin.page);
    await dialog.getByRole("button", { name: "Copy link" }).click();
    const link = await copied(admin.page);
    await dialog.getByRole("button", { name: "Done" }).click();

    const second = await world.visit(path(link), strange);
    await comeInByLink(second.page);
    await second.page.getByRole("navigation").getByRole("link", { name: "Home" }).first().waitFor();
    await second.page.goto("/settings");
    await second.page.getByRole("heading", { name: "Profile" }).waitFor();
    await second.page.getByText("Member", { exact: true }).waitFor();
    expect(await second.page.getByRole("link", { name: "People" }).count()).toBe(0);

    const row = admin.page.getByRole("row", { name: /reviewer@example.com/ });
    await row.getByLabel("Role of Reviewer").selectOption("Admin");
    await admin.page.getByText("Reviewer is an admin now").waitFor();
    await second.page.reload();
    await second.page.getByRole("link", { name: "People" }).click();
    await second.page
      .getByRole("row", { name: /reviewer@example.com/ })
      .getByText("You")
      .waitFor();

    await row.getByRole("button", { name: "Actions for Reviewer" }).press("Enter");
    await admin.page.getByRole("menuitem", { name: "Remove" }).press("Enter");
    await admin.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await row.waitFor({ state: "detached" });
    await second.page.reload();
    await second.page.waitForURL(/\/login\?next=/);
    expect(admin.complaints).toEqual([]);
    await admin.context.close();
    await second.context.close();
  });
});
