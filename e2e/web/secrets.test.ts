import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const names = async () =>
  (await app.call("GET", "/agent/secrets")).body.secrets.map(({ name }: { name: string }) => name);

describe("secrets", () => {
  test("saves a secret that reaches a run and is not on the page", async () => {
    const value = "s3cret-of-the-test";
    const { page, consoleErrors } = await app.visit("/secrets");
    await page.getByRole("button", { name: "Add secret" }).click();
    await page.getByLabel("Name", { exact: true }).fill("API_TOKEN");
    const field = page.getByLabel("Value", { exact: true });
    expect(await field.getAttribute("type")).toBe("password");
    await field.fill("short");
    await page.getByRole("dialog").getByRole("button", { name: "Add secret" }).click();
    await page
      .getByText("Value must have at least 8 bytes; shorter values cannot be masked.", { exact: true })
      .waitFor();
    await field.fill(value);
    await page.getByRole("button", { name: "Reveal value" }).click();
    expect(await field.inputValue()).toBe(value);
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Add secret" }).click();
    await page.getByRole("cell", { name: "API_TOKEN", exact: true }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(value);
    await expectAccessible(page);

    const { body } = await app.call("POST", "/agent/environments", {
      body: { name: "uses-it", secrets: ["API_TOKEN"] },
    });
    await app.worker();
    const run = await app.create([`RUN: [ "$API_TOKEN" = ${value} ]`], {
      config: { environment_id: body.environment_id },
    });
    await app.until(run, "SUCCEEDED");
    const finished = await app.event(run, ({ type }) => type === "command.finished");
    expect(finished?.data.exit_code).toBe(0);
    expect(consoleErrors).toEqual([]);
  });

  test("says what is wrong with a name, and does not overwrite a secret", async () => {
    await app.call("PUT", "/agent/secrets/TAKEN", { body: { value: "the first value" } });
    const { page, consoleErrors } = await app.visit("/secrets");
    await page.getByRole("cell", { name: "TAKEN", exact: true }).waitFor();
    await page.getByRole("button", { name: "Add secret" }).click();
    const name = page.getByLabel("Name", { exact: true });
    const save = page.getByRole("dialog").getByRole("button", { name: "Add secret" });
    await save.click();
    await page.getByText("Name is required.", { exact: true }).waitFor();
    await name.and(page.locator("[aria-invalid=true]:focus")).waitFor();
    await name.fill("1st");
    await page
      .getByText("Name must be a variable name: letters, digits and underscores, not starting with a digit.")
      .waitFor();
    await name.fill("TAKEN");
    await page.getByText(/^Name is already in use; replace that secret/).waitFor();
    await page.getByLabel("Value", { exact: true }).fill("another value");
    await save.click();
    await name.and(page.locator(":focus")).waitFor();
    await name.fill("FREE");
    expect(await name.getAttribute("aria-invalid")).toBeNull();
    await save.click();
    await page.getByRole("cell", { name: "FREE", exact: true }).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("keeps pasted line breaks and hides the value", async () => {
    const { page, consoleErrors } = await app.visit("/secrets");
    await page.getByRole("button", { name: "Add secret" }).click();
    await page.getByLabel("Name", { exact: true }).fill("DEPLOY_KEY");
    const key = "-----BEGIN KEY-----\nline two\n-----END KEY-----\n";
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(key)})`);
    const field = page.getByLabel("Value", { exact: true });
    await field.focus();
    await page.keyboard.press("Control+V");
    await page.getByText("lines hidden").waitFor();
    expect(await field.getAttribute("type")).toBe("password");
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    await page.getByRole("dialog").getByRole("button", { name: "Add secret" }).click();
    expect((await sent).postDataJSON()).toEqual({ value: key });
    await page.getByRole("cell", { name: "DEPLOY_KEY", exact: true }).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("shows what uses a secret and deletes it only if it is unused", async () => {
    await app.call("PUT", "/agent/secrets/IN_USE", { body: { value: "a long enough value" } });
    const { body } = await app.call("POST", "/agent/environments", {
      body: { name: "holder", secrets: ["IN_USE"] },
    });
    const { page, consoleErrors } = await app.visit("/secrets", { theme: "dark", size: "phone" });
    const row = page.getByRole("row").filter({ hasText: "IN_USE" });
    await row.getByRole("link", { name: "holder" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete IN_USE" }).click();
    await page.getByRole("dialog").getByText("Used by").waitFor();
    await page.getByRole("button", { name: "Delete secret" }).click();
    await page.getByRole("alert").getByText("The secret is used by: holder").waitFor();
    await expectAccessible(page);
    expect(await names()).toContain("IN_USE");
    await app.call("DELETE", `/agent/environments/${body.environment_id}`);
    await page.getByRole("button", { name: "Delete secret" }).click();
    await row.waitFor({ state: "detached" });
    expect(await names()).not.toContain("IN_USE");
    // The browser logs the rejected request.
    expect(consoleErrors.filter((each) => !each.includes("409 (Conflict)"))).toEqual([]);
  });

  test("replaces a secret by keyboard and restores the focus", async () => {
    await app.call("PUT", "/agent/secrets/OLD", { body: { value: "the old value" } });
    const { page, consoleErrors } = await app.visit("/secrets");
    const button = page.getByRole("button", { name: "Replace OLD" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Value", { exact: true }).focus();
    await page.keyboard.type("the new value");
    const answered = page.waitForResponse((response) => response.request().method() === "PUT");
    await page.keyboard.press("Enter");
    expect((await answered).status()).toBe(200);
    await button.and(page.locator(":focus")).waitFor();
    expect(consoleErrors).toEqual([]);
  });
});
