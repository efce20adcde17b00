import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption, chosenValue } from "./support/choose-option.ts";
import { invite, signInByLink, userByEmail } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

test("a select in a dialog works with the keyboard, and Escape closes only its list", async () => {
  const { page, consoleErrors } = await app.visit("/settings?section=users");
  await page.getByRole("button", { name: "Invite" }).first().click();
  const dialog = page.getByRole("dialog");
  const role = dialog.getByRole("combobox", { name: "Role" });
  const list = page.getByRole("listbox");
  await role.focus();
  await page.keyboard.press("ArrowDown");
  await list.waitFor();
  await expectAccessible(page);
  const active = await role.getAttribute("aria-activedescendant");
  expect(await page.locator(`[id="${active}"]`).innerText()).toBe("Member");
  await page.keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  expect(await dialog.isVisible()).toBe(true);
  // Typing finds an option, and no shortcut of the page.
  await page.keyboard.type("ad");
  await page.keyboard.press("Enter");
  await list.waitFor({ state: "detached" });
  expect(await chosenValue(role)).toBe("admin");
  await page.keyboard.press("Enter");
  await page.keyboard.press("End");
  await page.keyboard.press("Tab");
  expect(await chosenValue(role)).toBe("member");
  expect(await page.locator("select:visible").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("the list of a select stays in the window of a phone", async () => {
  for (let index = 1; index <= 30; index += 1)
    await app.call("POST", "/agent/environments", {
      body: { name: `a rather long environment name ${index}` },
    });
  const { page } = await app.visit("/", { size: "phone", theme: "dark" });
  await page.getByRole("combobox", { name: "Environment" }).click();
  const box = await page.getByRole("listbox", { name: "Environment" }).boundingBox();
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  expect(box && box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height).toBe(
    true,
  );
  await expectAccessible(page);
  await page.getByRole("option", { name: "a rather long environment name 30" }).click();
  await page.getByRole("combobox", { name: "Environment" }).getByText("name 30").waitFor();
});

describe("an incomplete form", () => {
  interface Case {
    address: string;
    /** The buttons that open the form. */
    open?: string[];
    /** A field that has a value at first. */
    clear?: string;
    submit: string;
    /** The field that receives the focus, and its error. */
    field: string;
    error: string;
  }
  const cases: Case[] = [
    { address: "/environments/new", submit: "Create environment", field: "Name", error: "Name is required." },
    {
      ...{ address: "/secrets", open: ["Add secret"], submit: "Add secret" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/agents", open: ["New cloud agent"], submit: "Create cloud agent" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/templates", open: ["New template"], submit: "Create template" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/keys", open: ["New key"], submit: "Create key" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/settings", open: ["Change email address"], clear: "Email address" },
      ...{ submit: "Change email address", field: "Email address", error: "Email address is required." },
    },
    {
      ...{ address: "/settings", open: ["Set password"], submit: "Set password" },
      ...{ field: "New password", error: "New password is required." },
    },
    {
      ...{ address: "/settings?section=users", open: ["Invite"], submit: "Create link" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/settings?section=models", open: ["Add provider", "Anthropic"], clear: "Name" },
      ...{ submit: "Save and test", field: "Name" },
      error: "Name must be 1 to 32 letters, digits, ., _ and -.",
    },
    {
      ...{ address: "/settings?section=forges", open: ["GitHub with a token"], submit: "Connect" },
      ...{ field: "Access token", error: "Access token is required." },
    },
    {
      ...{ address: "/settings/forges/github-app/new", open: ["GitHub Enterprise"] },
      ...{ submit: "Use this address", field: "Address", error: "Address is required." },
    },
    {
      ...{ address: "/runs?q=login", open: ["Save view"], submit: "Save" },
      ...{ field: "Name", error: "Name is required." },
    },
    {
      ...{ address: "/runs", open: ["Metadata"], submit: "Add" },
      ...{ field: "Label", error: "Label must be a key and a value, such as team=platform." },
    },
  ];

  test("shows its own errors, and focuses the first invalid field", async () => {
    const { page, consoleErrors } = await app.visit("/login", { signedIn: true });
    await page.addInitScript(`addEventListener("invalid", ({ target }) =>
      console.error("the browser validates " + target.outerHTML), true)`);
    for (const { address, open = [], clear, submit, field, error } of cases) {
      await page.goto(address);
      for (const name of open)
        await page
          .getByRole("button", { name })
          .or(page.locator("summary").filter({ hasText: name }))
          .first()
          .click();
      const input = page.getByLabel(field, { exact: true }).last();
      if (clear) await page.getByLabel(clear, { exact: true }).fill("");
      await page.getByRole("button", { name: submit, exact: true }).last().click();
      await page.getByText(error, { exact: true }).waitFor();
      await input.and(page.locator("[aria-invalid=true]:focus")).waitFor();
      expect(await page.locator("form:not([novalidate])").count(), address).toBe(0);
      expect(await page.locator("select:visible").count(), address).toBe(0);
    }
    expect(consoleErrors).toEqual([]);
  });
});

describe("a refused request", () => {
  const jargon = /\b[45]\d\d\b|not_authorized|authentication_required|Bearer|Trace ID/;

  test("after the session has ended leads to the sign-in page, which says why", async () => {
    const { page, context } = await app.visit("/keys?show=mine");
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await context.clearCookies();
    await page.waitForURL(/\/login\?next=%2Fkeys%3Fshow%3Dmine&ended=true$/);
    await page.getByRole("status").getByText("Your session has ended. Sign in again to continue.").waitFor();
    await expectAccessible(page);
  });

  test("after the session has ended keeps the form, and offers to sign in", async () => {
    const { page, context } = await app.visit("/environments/new");
    let asked = 0;
    page.on("dialog", async (dialog) => {
      asked += 1;
      await dialog.dismiss();
    });
    await page.getByLabel("Name", { exact: true }).fill("web");
    await context.clearCookies();
    await page.getByRole("button", { name: "Create environment" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "You are signed out" });
    await alert.getByText("Your session has ended. Sign in again to continue.").waitFor();
    expect(await alert.getByRole("link", { name: "Sign in" }).getAttribute("href")).toBe(
      "/login?next=%2Fenvironments%2Fnew",
    );
    expect(await alert.innerText()).not.toMatch(jargon);
    await expectAccessible(page);
    // The page polls, and the browser asks only once whether to leave it.
    await expect.poll(() => asked, waitOptions).toBe(1);
    await page.waitForResponse((response) => response.status() === 401);
    expect(asked).toBe(1);
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("web");
  });

  test("of a user who is no longer an admin says who can help", async () => {
    const link = await invite(app, "former@example.com", "Former Admin");
    const { uid } = await userByEmail(app, "former@example.com");
    await app.call("PATCH", `/users/${uid}`, { body: { role: "admin" } });
    const { page } = await app.visit(link.slice(app.origin.length), { signedIn: false });
    await signInByLink(page);
    await page.waitForURL((url) => url.pathname !== "/login");
    await page.goto("/environments/new");
    await page.getByLabel("Name", { exact: true }).fill("web");
    await app.call("PATCH", `/users/${uid}`, { body: { role: "member" } });
    await page.getByRole("button", { name: "Create environment" }).click();
    const alert = page.getByRole("alert").filter({ hasText: "You don't have permission to do this" });
    await alert.getByText("Only an admin can do this. Ask one to do it, or to make you an admin.").waitFor();
    expect(await alert.innerText()).not.toMatch(jargon);
  });

  test.each([
    [409, "The name `web` is in use.", "This action is not possible right now", "The name web is in use."],
    [422, "Builds are `off`.", "This server cannot do this", "Builds are off."],
    [429, "Slow down. Retry in 7 s.", "Too many requests", "Slow down. Try again in 7 seconds."],
    [500, "An unexpected error occurred.", "Something went wrong on the server", "Try again."],
  ])("with status %i shows sentences, with code as code", async (status, detail, title, shown) => {
    const { page } = await app.visit("/environments/new");
    await page.route("**/api/v1/agent/environments", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({
            status,
            headers: {
              "content-type": "application/problem+json",
              "retry-after": "7",
              "x-should-retry": "false",
            },
            json: { status, error_code: "some_code", detail, trace_id: "4bf92f3577b34da6", retryable: false },
          })
        : route.continue(),
    );
    await page.getByLabel("Name", { exact: true }).fill("web");
    await page.getByRole("button", { name: "Create environment" }).click();
    const alert = page.getByRole("alert").filter({ hasText: title });
    await alert.getByText(shown).waitFor();
    expect(await alert.innerText()).not.toMatch(/some_code|`|\b[45]\d\d\b/);
    expect(await alert.locator("code").count()).toBe(detail.includes("`") ? 1 : 0);
    expect(await alert.getByText("Trace ID: 4bf92f3577b34da6").count()).toBe(status === 500 ? 1 : 0);
  });

  test("in a toast also shows code as code", async () => {
    await invite(app, "last@example.com", "Last Admin");
    const { page } = await app.visit("/settings?section=users");
    await page.route("**/api/v1/users/*", (route) =>
      route.fulfill({ status: 409, json: { status: 409, detail: "Change `role` of another user first." } }),
    );
    await chooseOption(page.getByRole("combobox", { name: "Role of Last Admin" }), "admin");
    const toast = page.getByRole("status").filter({ hasText: "Change role of another user first." });
    expect(await toast.locator("code").innerText()).toBe("role");
  });
});
