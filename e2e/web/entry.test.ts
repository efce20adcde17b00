import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseOption } from "./support/choose-option.ts";
import { copied } from "./support/clipboard.ts";
import { invite, linkFor, PASSWORD, signInByLink, withoutRejections } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const signedOut = { signedIn: false };
const path = (url: string) => url.slice(app.origin.length);

describe("first sign-in", () => {
  test("goes from a one-time link to a password, the welcome page and a finished run", async () => {
    const { page, context, consoleErrors } = await app.visit(path(await linkFor(app)), signedOut);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Welcome, Admin" }).waitFor();
    expect(page.url()).not.toContain("token");
    await page.getByLabel("New password").fill("password123");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText(/^New password is too easy to guess/).waitFor();
    await page.getByLabel("New password").and(page.locator("[aria-invalid=true]:focus")).waitFor();
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Set password" }).click();

    await page.getByRole("heading", { name: "Welcome to Outrider" }).waitFor();
    await page.getByText("not an LLM").waitFor();
    await page.getByRole("heading", { name: "No worker connected" }).waitFor();
    await expectAccessible(page);
    await app.worker();
    await page.getByRole("heading", { name: "Worker ready" }).waitFor();
    await page.getByRole("button", { name: "Start first run" }).click();
    await page.getByText("$ sh hello.sh").waitFor();
    await page
      .getByText(/Hello from a sandbox/)
      .last()
      .waitFor();
    await page.getByRole("heading", { name: "First run finished" }).waitFor();
    await expectAccessible(page);
    for (const next of ["Create an environment", "Create a key", "Invite users"]) {
      await page.getByRole("link", { name: next }).waitFor();
    }
    const { runs } = (await app.call("GET", "/agent/runs?limit=1")).body;
    expect(runs[0]).toMatchObject({ title: "First run", state: "SUCCEEDED", source: "WEB_APP" });
    expect(withoutRejections(consoleErrors)).toEqual(
      consoleErrors.filter((text) => /status of 400/.test(text)),
    );

    // The welcome page is not offered again.
    await page.goto("/login");
    await page.waitForURL(`${app.origin}/`);
    await context.close();
  });
});

describe("sign-in", () => {
  test("opens the requested page after a password, and rejects a wrong one without details", async () => {
    const { page, context, consoleErrors } = await app.visit("/login?next=%2Fkeys%3Fshow%3Dmine", signedOut);
    await page.getByRole("button", { name: "Sign in" }).click();
    for (const text of ["Email address is required.", "Password is required."])
      await page.getByText(text, { exact: true }).waitFor();
    await page.getByLabel("Email address").and(page.locator("[aria-invalid=true]:focus")).waitFor();
    await page.getByLabel("Email address").fill("admin@localhost");
    await page.getByLabel("Password").fill("not the password");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("The email address or password is incorrect.").waitFor();
    expect(await page.getByLabel("Email address").inputValue()).toBe("admin@localhost");
    await expectAccessible(page);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    expect(page.url()).toBe(`${app.origin}/keys?show=mine`);
    expect(withoutRejections(consoleErrors)).toEqual([]);

    await page.goto("/login");
    await page.waitForURL(`${app.origin}/`);
    await context.close();
  });

  test("redirects only to paths of this app", async () => {
    const { page, context } = await app.visit("/keys");
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
      expect(new URL(page.url()).origin).toBe(app.origin);
    }
    await context.close();
  });

  test("explains that a link was used, and offers the password form", async () => {
    const link = path(await linkFor(app));
    const first = await app.visit(link, signedOut);
    await first.page.getByRole("button", { name: "Sign in" }).click();
    await first.page.waitForURL(`${app.origin}/`);
    await first.context.close();
    const { page, context } = await app.visit(link, signedOut);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/was used or replaced, or it has expired/)
      .waitFor();
    await page.getByRole("button", { name: "Use a password instead" }).click();
    await page.getByLabel("Password").waitFor();
    await context.close();
  });

  test("says when to retry after too many attempts", async () => {
    await invite(app, "guessed@example.com", "Guessed");
    const { page, context } = await app.visit("/login", signedOut);
    await page.getByLabel("Email address").fill("guessed@example.com");
    const guess = (password: string) =>
      fetch(`${app.origin}/api/v1/auth/sign-in`, {
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

  test("accepts a link that is pasted into a tab with the sign-in page", async () => {
    const { page } = await app.visit("/login", signedOut);
    await page.getByLabel("Password").waitFor();
    await page.goto(path(await linkFor(app)));
    await page.getByText("This link works once.").waitFor();
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${app.origin}/`);
  });

  test("sends one request to find that nobody is signed in", async () => {
    const { page } = await app.visit("/favicon.svg", signedOut);
    const requests: string[] = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith("/api/")) requests.push(pathname);
    });
    await page.goto("/");
    await page.waitForURL(`${app.origin}/login`);
    await page.getByLabel("Password").waitFor();
    expect(requests).toEqual(["/api/v1/me"]);
  });

  test("explains a page that does not exist, and tells programs in JSON", async () => {
    const { page } = await app.visit("/runs", signedOut);
    const response = await page.goto("/nope");
    expect(response?.status()).toBe(404);
    await page.getByRole("heading", { name: "Page not found" }).first().waitFor();
    await expectAccessible(page);
    const program = await fetch(`${app.origin}/nope`, { headers: { accept: "*/*" } });
    expect([program.status, await program.text()]).toEqual([
      404,
      expect.stringContaining("resource_not_found"),
    ]);
    const api = await fetch(`${app.origin}/api/v1/nope`, { headers: { accept: "text/html" } });
    expect(api.headers.get("content-type")).toMatch(/json/);
  });

  test("returns to the page that required sign-in, and requires it again after signing out", async () => {
    const { page, context } = await app.visit("/settings?section=models", signedOut);
    await page.waitForURL(/\/login\?next=/);
    await page.getByLabel("Email address").fill("admin@localhost");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${app.origin}/settings?section=models`);
    await page.getByRole("link", { name: "Account" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${app.origin}/login`);
    await page.goto("/keys");
    await page.waitForURL(/\/login\?next=/);
    await context.close();
  });
});

describe("users", () => {
  test("lets an admin invite a user, change the role, and remove the user, which signs them out", async () => {
    const admin = await app.visit(path(await linkFor(app)), signedOut);
    await admin.page.getByRole("button", { name: "Sign in" }).click();
    await admin.page.waitForURL(`${app.origin}/`);
    await admin.page.goto("/settings?section=users");
    await admin.page.getByRole("button", { name: "Invite" }).click();
    const dialog = admin.page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("Reviewer");
    await dialog.getByLabel("Email address").fill("reviewer@example.com");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByRole("heading", { name: "Sign-in link for Reviewer" }).waitFor();
    await expectAccessible(admin.page);
    await dialog.getByRole("button", { name: "Copy link" }).click();
    const link = await copied(admin.page);
    await dialog.getByRole("button", { name: "Done" }).click();

    const second = await app.visit(path(link), signedOut);
    await signInByLink(second.page);
    await second.page.getByRole("navigation").getByRole("link", { name: "Home" }).first().waitFor();
    await second.page.goto("/settings");
    await second.page.getByRole("heading", { name: "Profile" }).waitFor();
    await second.page.getByText("Member", { exact: true }).waitFor();
    expect(await second.page.getByRole("link", { name: "Users" }).count()).toBe(0);

    const row = admin.page.getByRole("row", { name: /reviewer@example.com/ });
    await chooseOption(row.getByLabel("Role of Reviewer"), "Admin");
    await admin.page.getByText("Reviewer is now an admin").waitFor();
    await second.page.reload();
    await second.page.getByRole("link", { name: "Users" }).click();
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
    expect(admin.consoleErrors).toEqual([]);
    await admin.context.close();
    await second.context.close();
  });
});
