import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Outrider } from "@outrider/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { copied } from "./support/clipboard.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

const run = promisify(execFile);
let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const call = (key: string, method = "GET", body?: object) =>
  fetch(`${app.origin}/api/v1/agent/run${method === "GET" ? "s" : ""}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

describe("keys", () => {
  test("shows a new key once; it creates a run and is rejected after it is revoked", async () => {
    const { page, context, consoleErrors } = await app.visit("/keys");
    await page.getByRole("button", { name: "New key" }).first().click();
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("nightly build");
    await chooseOption(sheet.getByLabel("Expires"), "In 30 days");
    await expectAccessible(page);
    await sheet.getByRole("button", { name: "Create key" }).click();

    await sheet.getByRole("heading", { name: "Save this key now" }).waitFor();
    await sheet.getByRole("button", { name: "Copy key" }).click();
    const key = await copied(page);
    expect(key).toMatch(/^orp_/);
    await expectAccessible(page);

    // Closing the dialog by accident asks for confirmation.
    await page.keyboard.press("Escape");
    await sheet.getByRole("heading", { name: "Close without saving the key?" }).waitFor();
    await sheet.getByRole("button", { name: "Go back" }).click();
    await sheet.getByText(key, { exact: true }).waitFor();
    await sheet.getByRole("button", { name: "I have saved it" }).click();
    expect(await page.content()).not.toContain(key);

    const outrider = new Outrider({ apiKey: key, baseURL: `${app.origin}/api/v1` });
    const { run_id } = await outrider.runs.create({ prompt: "SAY: from a key of the browser" });
    expect((await outrider.runs.get(run_id)).creator?.display_name).toBe("Admin");

    const row = page.getByRole("row", { name: /nightly build/ });
    await row.getByText(`${key.slice(0, 10)}…`).waitFor();
    await row.getByRole("button", { name: "Revoke nightly build" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke key", exact: true }).click();
    await row.waitFor({ state: "detached" });
    expect((await call(key)).status).toBe(401);
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("offers a working curl example", async () => {
    const { page, context } = await app.visit("/keys?new=personal");
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("pasted");
    await sheet.getByRole("button", { name: "Create key" }).click();
    await sheet.getByRole("button", { name: "Copy curl example" }).click();
    const line = await copied(page);
    const made = JSON.parse((await run("bash", ["-c", line])).stdout);
    expect((await app.get(made.run_id)).state).toBe("QUEUED");
    await context.close();
  });

  test("creates an agent key with limits for the cloud agent in the URL", async () => {
    const agent = (await app.call("POST", "/agent/identities", { body: { name: "release-bot" } })).body;
    const { page, context, consoleErrors } = await app.visit(`/keys?agent=${agent.uid}`);
    const sheet = page.getByRole("dialog");
    await sheet.getByRole("combobox").getByText("release-bot").waitFor();
    await sheet.getByLabel("Name").fill("releases");
    await sheet.getByLabel("Create and manage runs").uncheck();
    await sheet.getByText("Limits · optional").click();
    await sheet.getByLabel("Concurrent runs").fill("2");
    await sheet.getByLabel("Daily budget (USD)").fill("5");
    await sheet.getByRole("button", { name: "Create key" }).click();
    await sheet.getByRole("button", { name: "Copy key" }).click();
    const key = await copied(page);
    await sheet.getByRole("button", { name: "I have saved it" }).click();
    expect(key).toMatch(/^ora_/);
    expect((await call(key)).status).toBe(200);
    expect((await call(key, "POST", { prompt: "SAY: no" })).status).toBe(403);
    const row = page.getByRole("row", { name: /releases/ });
    for (const words of ["Agent", "release-bot", "Read runs", "2 concurrent runs", "$5.00 per day"]) {
      await row.getByText(words, { exact: true }).locator("visible=true").first().waitFor();
    }
    expect(consoleErrors).toEqual([]);
    await context.close();
  });

  test("names every invalid field in a sentence, and opens the section of the first", async () => {
    const { page, consoleErrors } = await app.visit("/keys?new=personal");
    const sheet = page.getByRole("dialog");
    const create = sheet.getByRole("button", { name: "Create key" });
    await sheet.getByLabel("Read runs").uncheck();
    await sheet.getByLabel("Create and manage runs").uncheck();
    await sheet.getByText("Limits · optional").click();
    await sheet.getByLabel("Concurrent runs").fill("many");
    await sheet.getByLabel("Daily budget (USD)").fill("0");
    await sheet.getByText("Limits · optional").click();
    await create.click();
    await sheet.getByText("4 fields need attention").waitFor();
    await sheet.getByLabel("Name").and(page.locator("[aria-invalid=true]:focus")).waitFor();
    for (const text of ["Name is required.", "Permissions must have at least 1 item."])
      await sheet.getByText(text, { exact: true }).waitFor();
    await sheet.getByLabel("Name").fill("limited");
    await sheet.getByLabel("Read runs").check();
    await create.click();
    // The focus opens the closed section.
    await sheet.getByText("Concurrent runs must be a number.", { exact: true }).waitFor();
    await sheet.getByText("Daily budget must be at least 0.01.", { exact: true }).waitFor();
    await sheet.getByLabel("Concurrent runs").and(page.locator(":focus")).waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("shows an error and keeps what was typed", async () => {
    const { page, context } = await app.visit("/keys?new=personal");
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("soon over");
    await chooseOption(sheet.getByLabel("Expires"), "Custom date");
    await sheet.getByLabel("Date", { exact: true }).fill("9999-12-31");
    await page.route("**/api/v1/keys", (route) =>
      route.request().method() === "POST" ? route.abort() : route.fallback(),
    );
    await sheet.getByRole("button", { name: "Create key" }).click();
    await sheet.getByText("Could not reach the server").waitFor({ timeout: waitOptions.timeout });
    expect(await sheet.getByLabel("Name").inputValue()).toBe("soon over");
    await context.close();
  });
});
