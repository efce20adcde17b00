import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const names = async () =>
  (await world.call("GET", "/agent/secrets")).body.secrets.map(({ name }: { name: string }) => name);

describe("secrets", () => {
  test("one is stored, reaches a run, and its value is nowhere on the page", async () => {
    const value = "s3cret-of-the-test";
    const { page, complaints } = await world.visit("/secrets");
    await page.getByRole("button", { name: "Add secret" }).click();
    await page.getByLabel("Name", { exact: true }).fill("API_TOKEN");
    const field = page.getByLabel("Value", { exact: true });
    expect(await field.getAttribute("type")).toBe("password");
    await field.fill("short");
    await page.getByRole("button", { name: "Store secret" }).click();
    await page
      .getByText("Must have at least 8 bytes: shorter ones cannot be masked.", { exact: true })
      .waitFor();
    await field.fill(value);
    await page.getByRole("button", { name: "Reveal the value" }).click();
    expect(await field.inputValue()).toBe(value);
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Store secret" }).click();
    await page.getByRole("cell", { name: "API_TOKEN", exact: true }).waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.content()).not.toContain(value);
    await expectAccessible(page);

    const { body } = await world.call("POST", "/agent/environments", {
      body: { name: "uses-it", secrets: ["API_TOKEN"] },
    });
    await world.worker();
    const run = await world.create([`RUN: [ "$API_TOKEN" = ${value} ]`], {
      config: { environment_id: body.environment_id },
    });
    await world.until(run, "SUCCEEDED");
    const finished = await world.event(run, ({ type }) => type === "command.finished");
    expect(finished?.data.exit_code).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("several lines that are pasted stay several lines, and stay hidden", async () => {
    const { page, complaints } = await world.visit("/secrets");
    await page.getByRole("button", { name: "Add secret" }).click();
    await page.getByLabel("Name", { exact: true }).fill("DEPLOY_KEY");
    const key = "-----BEGIN KEY-----\nline two\n-----END KEY-----\n";
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(key)})`);
    const field = page.getByLabel("Value", { exact: true });
    await field.focus();
    await page.keyboard.press("Control+V");
    await page.getByText("lines are hidden").waitFor();
    expect(await field.getAttribute("type")).toBe("password");
    const sent = page.waitForRequest((request) => request.method() === "PUT");
    await page.getByRole("button", { name: "Store secret" }).click();
    expect((await sent).postDataJSON()).toEqual({ value: key });
    await page.getByRole("cell", { name: "DEPLOY_KEY", exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("one that is used says by what, and is deleted only once nothing uses it", async () => {
    await world.call("PUT", "/agent/secrets/IN_USE", { body: { value: "a long enough value" } });
    const { body } = await world.call("POST", "/agent/environments", {
      body: { name: "holder", secrets: ["IN_USE"] },
    });
    const { page, complaints } = await world.visit("/secrets", { theme: "dark", size: "phone" });
    const row = page.getByRole("row").filter({ hasText: "IN_USE" });
    await row.getByRole("link", { name: "holder" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Delete IN_USE" }).click();
    await page.getByRole("dialog").getByText("It is used by").waitFor();
    await page.getByRole("button", { name: "Delete secret" }).click();
    await page.getByRole("alert").getByText("The secret is used by: holder").waitFor();
    await expectAccessible(page);
    expect(await names()).toContain("IN_USE");
    await world.call("DELETE", `/agent/environments/${body.environment_id}`);
    await page.getByRole("button", { name: "Delete secret" }).click();
    await row.waitFor({ state: "detached" });
    expect(await names()).not.toContain("IN_USE");
    // The browser itself notes the refusal.
    expect(complaints.filter((each) => !each.includes("409 (Conflict)"))).toEqual([]);
  });

  test("one is replaced by keyboard alone, and the focus comes back", async () => {
    await world.call("PUT", "/agent/secrets/OLD", { body: { value: "the old value" } });
    const { page, complaints } = await world.visit("/secrets");
    const button = page.getByRole("button", { name: "Replace OLD" });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Value", { exact: true }).focus();
    await page.keyboard.type("the new value");
    const answered = page.waitForResponse((response) => response.request().method() === "PUT");
    await page.keyboard.press("Enter");
    expect((await answered).status()).toBe(200);
    await button.and(page.locator(":focus")).waitFor();
    expect(complaints).toEqual([]);
  });
});
