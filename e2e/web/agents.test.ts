import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const agents = async () => (await world.call("GET", "/agent/identities")).body.identities;

describe("cloud agents", () => {
  test("one is made with its defaults, and leads on to its first key", async () => {
    const { body } = await world.call("POST", "/agent/environments", { body: { name: "nightly" } });
    const { page, complaints } = await world.visit("/agents");
    await page.getByRole("heading", { name: "No cloud agents yet" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "New cloud agent" }).click();
    await page.getByLabel("Name", { exact: true }).fill("release-bot");
    await page.getByLabel("Description").fill("Cuts the releases.");
    await page.getByLabel("Environment").selectOption("nightly");
    await page.getByLabel("Model").selectOption("scripted");
    await page.getByLabel("Runs at once").fill("0");
    await page.getByRole("button", { name: "Create cloud agent" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.getByLabel("Runs at once").getAttribute("aria-invalid")).toBe("true");
    await expectAccessible(page);
    await page.getByLabel("Runs at once").fill("2");
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
    expect(complaints.filter((each) => !each.includes("400 (Bad Request)"))).toEqual([]);
  });

  test("one is changed by keyboard, and its runs are one press away", async () => {
    const { body } = await world.call("POST", "/agent/identities", { body: { name: "changing" } });
    const { page, complaints } = await world.visit("/agents", { theme: "dark", size: "phone" });
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
    await page.getByRole("menuitem", { name: "Its runs" }).click();
    await page.waitForURL((url) => url.pathname === "/runs");
    expect(page.url()).toContain(body.uid);
    expect(complaints).toEqual([]);
  });

  test("deleting one names the keys that are revoked with it", async () => {
    const { body: agent } = await world.call("POST", "/agent/identities", { body: { name: "leaving" } });
    const { body: key } = await world.call("POST", "/keys", {
      body: { name: "its only key", type: "agent", agent_uid: agent.uid },
    });
    const me = () => fetch(`${world.origin}/api/v1/me`, { headers: { authorization: `Bearer ${key.key}` } });
    expect((await me()).status).toBe(200);
    const { page, complaints } = await world.visit("/agents");
    await page.getByRole("button", { name: "Actions for leaving" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("its only key").waitFor();
    await page.getByRole("button", { name: "Delete cloud agent" }).click();
    await page.getByRole("button", { name: "Actions for leaving" }).waitFor({ state: "detached" });
    expect((await me()).status).toBe(401);
    expect(complaints).toEqual([]);
  });
});
