import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let run: string;
let environment: string;

beforeAll(async () => {
  app = await startWebApp();
  run = await app.create(["SAY: still here"], { title: "Kept in view" });
  environment = (await app.call("POST", "/agent/environments", { body: { name: "shop" } })).body
    .environment_id;
});
afterAll(() => app?.stop());

const banner = (page: Page) => page.getByRole("status", { name: "Connection" });
const lost = (page: Page) => banner(page).getByText("Can’t reach the server.");

/** Opens a page within the app, as a click on a link does. */
async function open(page: Page, path: string) {
  await page.evaluate(`history.pushState({}, "", ${JSON.stringify(path)})`);
}

/** Waits until all files of the app are in the browser. */
async function prefetched(page: Page) {
  const files = `performance.getEntriesByType("resource").map(({ name }) => name).join(" ")`;
  await expect.poll(() => page.evaluate(files), { timeout: 30_000 }).toMatch(/cancel-dialog/);
}

describe("a server that cannot be reached", () => {
  test("every page says so, keeps what it has, and recovers by itself", async () => {
    const { page, context } = await app.visit("/");
    await page.getByRole("link", { name: "Kept in view" }).waitFor();
    await prefetched(page);
    await context.setOffline(true);
    await lost(page).waitFor();
    expect(await page.getByRole("link", { name: "Kept in view" }).isVisible()).toBe(true);
    await expectAccessible(page);
    // None of these pages was open before.
    const paths = [
      ...["/runs", `/runs/${run}`, "/environments", `/environments/${environment}`, "/environments/new"],
      ...["/skills", "/agents", "/secrets", "/keys", "/workers", "/settings", "/welcome"],
    ];
    for (const path of paths) {
      await open(page, path);
      await page.locator("main").first().waitFor();
      await lost(page).waitFor();
      expect(await page.getByText("Something went wrong").count()).toBe(0);
    }
    await open(page, "/");
    await page.getByRole("link", { name: "Kept in view" }).waitFor();
    await open(page, "/agents");
    await context.setOffline(false);
    await page.getByText("Connected again").waitFor();
    await lost(page).waitFor({ state: "detached" });
    await page.getByText("No cloud agents").or(page.getByText("cloud agent").first()).first().waitFor();
  });

  test("a page whose code is not loaded yet opens when the connection is back", async () => {
    const { page, context } = await app.visit("/skills", { theme: "dark", size: "phone" });
    await page.getByRole("heading", { name: "Skills", exact: true }).waitFor();
    await context.setOffline(true);
    await open(page, "/keys");
    await lost(page).waitFor();
    await expectAccessible(page);
    await context.setOffline(false);
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await lost(page).waitFor({ state: "detached" });
  });

  test("a run does not claim to be working, and its transcript continues after a restart of the server", async () => {
    await app.worker();
    const id = await app.create([
      "SAY: first words",
      "RUN: while [ ! -e go ]; do sleep 0.1; done",
      "SAY: last words",
    ]);
    const { page } = await app.visit(`/runs/${id}`);
    await page.getByText("first words").first().waitFor();
    await app.restart(async () => {
      await lost(page).waitFor();
      await page.getByText(/^Last seen: /).waitFor();
      expect(await page.getByText("first words").first().isVisible()).toBe(true);
    });
    await lost(page).waitFor({ state: "detached" });
    await page.getByText("Working", { exact: true }).waitFor();
    await app.call("POST", `/agent/runs/${id}/cancel`);
    await page.getByText("Cancelled").first().waitFor();
  });
});
