import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseOption } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const agents = async () => (await app.call("GET", "/agent/identities")).body.agents;

describe("cloud agents", () => {
  test("creates an agent with defaults and continues to its first key", async () => {
    const { body } = await app.call("POST", "/agent/environments", { body: { name: "nightly" } });
    const { page, consoleErrors } = await app.visit("/agents");
    await page.getByRole("heading", { name: "No cloud agents yet" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "New cloud agent" }).click();
    await page.getByLabel("Name", { exact: true }).fill("release-bot");
    await page.getByLabel("Description").fill("Cuts the releases.");
    await chooseOption(page.getByLabel("Environment"), "nightly");
    await chooseOption(page.getByLabel("Model"), "scripted");
    await page.getByLabel("Concurrent runs").fill("0");
    await page.getByRole("button", { name: "Create cloud agent" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Concurrent runs").getAttribute("aria-invalid")).toBe("true");
    await expectAccessible(page);
    await page.getByLabel("Concurrent runs").fill("2");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === "/keys");
    const [agent] = await agents();
    expect(agent).toMatchObject({
      name: "release-bot",
      description: "Cuts the releases.",
      model_id: "scripted",
      environment_id: body.environment_id,
      max_concurrent_runs: 2,
    });
    expect(new URL(page.url()).searchParams.get("agent")).toBe(agent.uid);
    expect(consoleErrors.filter((each) => !each.includes("400 (Bad Request)"))).toEqual([]);
  });

  test("edits an agent by keyboard and opens its runs", async () => {
    const { body } = await app.call("POST", "/agent/identities", { body: { name: "changing" } });
    const { page, consoleErrors } = await app.visit("/agents", { theme: "dark", size: "phone" });
    const button = page.getByRole("button", { name: "Actions for changing" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Edit" }).press("Enter");
    await page.getByLabel("Description").fill("It has one now.");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save changes" }).press("Enter");
    await page.getByText("It has one now.").first().waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expectAccessible(page);
    await button.click();
    await page.getByRole("menuitem", { name: "View runs" }).click();
    await page.waitForURL((url) => url.pathname === "/runs");
    expect(page.url()).toContain(body.uid);
    expect(consoleErrors).toEqual([]);
  });

  test("lists the keys that deleting an agent revokes", async () => {
    const { body: agent } = await app.call("POST", "/agent/identities", { body: { name: "leaving" } });
    const { body: key } = await app.call("POST", "/keys", {
      body: { name: "its only key", type: "agent", agent_uid: agent.uid },
    });
    const me = () => fetch(`${app.origin}/api/v1/me`, { headers: { authorization: `Bearer ${key.key}` } });
    expect((await me()).status).toBe(200);
    const { page, consoleErrors } = await app.visit("/agents");
    await page.getByRole("button", { name: "Actions for leaving" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("its only key").waitFor();
    await page.getByRole("button", { name: "Delete cloud agent" }).click();
    await page.getByRole("button", { name: "Actions for leaving" }).waitFor({ state: "detached" });
    expect((await me()).status).toBe(401);
    expect(consoleErrors).toEqual([]);
  });
});
