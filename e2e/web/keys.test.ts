import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Outrider } from "@outrider/sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { copied } from "./clipboard.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

const run = promisify(execFile);
let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const call = (key: string, method = "GET", body?: object) =>
  fetch(`${world.origin}/api/v1/agent/run${method === "GET" ? "s" : ""}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body ? { "content-type": "application/json" } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });

describe("keys", () => {
  test("a key made in the browser is shown once, creates a run, and is refused once it is revoked", async () => {
    const { page, context, complaints } = await world.visit("/keys");
    await page.getByRole("button", { name: "New key" }).first().click();
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("nightly build");
    await sheet.getByLabel("Expires").selectOption("In 30 days");
    await expectAccessible(page);
    await sheet.getByRole("button", { name: "Make the key" }).click();

    await sheet.getByRole("heading", { name: "Store this key now" }).waitFor();
    await sheet.getByRole("button", { name: "Copy key" }).click();
    const key = await copied(page);
    expect(key).toMatch(/^orp_/);
    await expectAccessible(page);

    // Closing it by accident is caught.
    await page.keyboard.press("Escape");
    await sheet.getByRole("heading", { name: "Close without storing it?" }).waitFor();
    await sheet.getByRole("button", { name: "Go back" }).click();
    await sheet.getByText(key, { exact: true }).waitFor();
    await sheet.getByRole("button", { name: "I have stored it" }).click();
    expect(await page.content()).not.toContain(key);

    const outrider = new Outrider({ apiKey: key, baseURL: `${world.origin}/api/v1` });
    const { run_id } = await outrider.runs.create({ prompt: "SAY: from a key of the browser" });
    expect((await outrider.runs.get(run_id)).creator?.display_name).toBe("Admin");

    const row = page.getByRole("row", { name: /nightly build/ });
    await row.getByText(`${key.slice(0, 10)}…`).waitFor();
    await row.getByRole("button", { name: "Revoke nightly build" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await row.waitFor({ state: "detached" });
    expect((await call(key)).status).toBe(401);
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("its curl line works as it was copied", async () => {
    const { page, context } = await world.visit("/keys?new=personal");
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("pasted");
    await sheet.getByRole("button", { name: "Make the key" }).click();
    await sheet.getByRole("button", { name: "Copy curl example" }).click();
    const line = await copied(page);
    const made = JSON.parse((await run("bash", ["-c", line])).stdout);
    expect((await world.get(made.run_id)).state).toBe("QUEUED");
    await context.close();
  });

  test("an agent key is made for the cloud agent in the address, within the limits that were set", async () => {
    const agent = (await world.call("POST", "/agent/identities", { body: { name: "release-bot" } })).body;
    const { page, context, complaints } = await world.visit(`/keys?agent=${agent.uid}`);
    const sheet = page.getByRole("dialog");
    await sheet.getByRole("option", { name: "release-bot", selected: true }).waitFor({ state: "attached" });
    await sheet.getByLabel("Name").fill("releases");
    await sheet.getByLabel("Create and steer runs").uncheck();
    await sheet.getByText("Limits · optional").click();
    await sheet.getByLabel("Runs at once").fill("2");
    await sheet.getByLabel("Dollars a day").fill("5");
    await sheet.getByRole("button", { name: "Make the key" }).click();
    await sheet.getByRole("button", { name: "Copy key" }).click();
    const key = await copied(page);
    await sheet.getByRole("button", { name: "I have stored it" }).click();
    expect(key).toMatch(/^ora_/);
    expect((await call(key)).status).toBe(200);
    expect((await call(key, "POST", { prompt: "SAY: no" })).status).toBe(403);
    const row = page.getByRole("row", { name: /releases/ });
    for (const words of ["Agent", "release-bot", "Read runs", "2 runs at once", "$5.00 a day"]) {
      await row.getByText(words, { exact: true }).locator("visible=true").first().waitFor();
    }
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("what the server refuses is said, and what was typed stays", async () => {
    const { page, context } = await world.visit("/keys?new=personal");
    const sheet = page.getByRole("dialog");
    await sheet.getByLabel("Name").fill("soon over");
    await sheet.getByLabel("Expires").selectOption("On a date");
    await sheet.getByLabel("On", { exact: true }).fill("9999-12-31");
    await page.route("**/api/v1/keys", (route) =>
      route.request().method() === "POST" ? route.abort() : route.fallback(),
    );
    await sheet.getByRole("button", { name: "Make the key" }).click();
    await sheet.getByText("The server cannot be reached").waitFor({ timeout: 20_000 });
    expect(await sheet.getByLabel("Name").inputValue()).toBe("soon over");
    await context.close();
  });
});
