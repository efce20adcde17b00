import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { invite, linkFor, PASSWORD, signInByLink, userByEmail } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp({
    OUTRIDER_REQUESTS_PER_MINUTE: "250000",
    OUTRIDER_MAX_STEPS: "77",
    OUTRIDER_QUEUE_TIMEOUT_HOURS: "1.5",
    OUTRIDER_MAX_COST_USD_PER_DAY: "40",
    OUTRIDER_KEEP_EVENTS_DAYS: "30",
    OUTRIDER_KEEP_EVENTS_GB: "2.5",
  });
});
afterAll(() => app?.stop());

const signedOut = { signedIn: false };

describe("settings", () => {
  test("changes the name, the theme and single-key shortcuts", async () => {
    const { page, context, consoleErrors } = await app.visit("/settings");
    await page.getByLabel("Name").fill("Head of Admin");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("Name changed").waitFor();
    await page
      .getByRole("button", { name: /Head of Admin/ })
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Dark" }).click();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await expectAccessible(page);
    await page.getByLabel("Single-key shortcuts").uncheck();
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.reload();
    expect(await page.getByLabel("Single-key shortcuts").isChecked()).toBe(false);
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("sets a password, then changes it with the old one", async () => {
    await invite(app, "member@example.com", "Member");
    const link = await linkFor(app, "member@example.com");
    const { page, context, consoleErrors } = await app.visit(link, signedOut);
    await signInByLink(page);
    await page.getByRole("heading", { name: "Welcome to Outrider" }).waitFor();
    await page.goto("/settings");
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("Password set").waitFor();
    expect((await userByEmail(app, "member@example.com")).has_password).toBe(true);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Email address").fill("member@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${app.origin}/`);
    await page.goto("/settings");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByLabel("Current password").fill("not it");
    await page.getByLabel("New password").fill("twelve brass kettles in june");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Current password is incorrect.", { exact: true }).waitFor();
    await page.getByLabel("Current password").and(page.locator("[aria-invalid=true]:focus")).waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed").waitFor();
    expect(consoleErrors.filter((text) => !/status of 40[13]/.test(text))).toEqual([]);
    await context.close();
  });

  test("shows the server's error at its field and keeps what was typed", async () => {
    await invite(app, "twice@example.com", "Twice");
    const { page } = await app.visit("/settings?section=users");
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog");
    const email = dialog.getByLabel("Email address");
    await dialog.getByLabel("Name").fill("Another");
    await email.fill("nobody");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByText("Email address must have a form such as ada@example.com.").waitFor();
    await email.fill("twice@example.com");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByText("Email address is already in use.", { exact: true }).waitFor();
    await email.and(page.locator("[aria-invalid=true]:focus")).waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("Another");
    await expectAccessible(page);
    // A change removes the error.
    await email.fill("once@example.com");
    await dialog.getByText("Email address is already in use.").waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Create link" }).click();
    await dialog.getByRole("heading", { name: "Sign-in link for Another" }).waitFor();
  });

  test("does not let admins demote themselves, and replaces a lost link", async () => {
    const { page, context, consoleErrors } = await app.visit("/settings?section=users");
    const own = page.getByRole("row", { name: /admin@localhost/ });
    // The current user may load after the list of users.
    await vi.waitUntil(() => own.getByRole("combobox").isDisabled(), waitOptions);
    await own.getByRole("button", { name: /^Actions for/ }).click();
    expect(await page.getByRole("menuitem", { name: "Remove" }).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("menuitem", { name: "New sign-in link" }).click();
    await page
      .getByRole("dialog")
      .getByText(/\/login#token=orl_/)
      .waitFor();
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("shows available models and offers to connect one, and limits with their environment variables", async () => {
    const { page, context, consoleErrors } = await app.visit("/settings?section=models");
    await page
      .getByRole("row", { name: /scripted/ })
      .getByText("Default")
      .waitFor();
    await page.getByRole("heading", { name: "No model connected" }).waitFor();
    await page.getByRole("button", { name: "Add provider" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Limits" }).click();
    for (const [name, value] of [
      ["OUTRIDER_MAX_STEPS", "77"],
      ["OUTRIDER_REQUESTS_PER_MINUTE", "250,000 per minute"],
      ["OUTRIDER_QUEUE_TIMEOUT_HOURS", "1.5 hours"],
      ["OUTRIDER_MAX_COST_USD_PER_DAY", /^\$40\.00/],
      ["OUTRIDER_MAX_COST_USD_PER_DAY", /\$0 used/],
      ["OUTRIDER_KEEP_EVENTS_GB", "30 days, at most 2.5 GB"],
      ["OUTRIDER_KEEP_RUNS_DAYS", "forever"],
    ] as const) {
      const cell = page.getByRole("row", { name: new RegExp(name) }).getByText(value);
      await cell.first().waitFor();
    }
    await page
      .getByRole("row", { name: /Request body/ })
      .getByText(/16 MiB with attachments/)
      .waitFor();
    expect(page.url()).toContain("section=limits");
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
    await context.close();
  });
});
