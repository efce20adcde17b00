import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { MAX_SILENCE_MS, PROBE_TIMEOUT_MS } from "../../packages/web/src/frame/loss-timing.ts";
import { goOffline, lostBanner, openInApp, startHangingProxy } from "./support/connection.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let run: string;

beforeAll(async () => {
  app = await startWebApp();
  run = await app.create(["SAY: still here"], { title: "Kept in view" });
});
afterAll(() => app?.stop());

const link = async () =>
  (await app.call("POST", `/agent/runs/${run}/share`, { body: {} })).body.link as string;

describe("a server that cannot be reached", () => {
  test("accepts connections but never responds: pages that send no requests also say so, and recover", async () => {
    const proxy = await startHangingProxy(app.origin);
    onTestFinished(() => proxy.stop());
    const shared = new URL(await link()).pathname;
    const visitors = [
      await app.visit("/favicon.svg"),
      await app.visit("/favicon.svg", { signedIn: false, theme: "dark" }),
      await app.visit("/favicon.svg", { signedIn: false, size: "phone" }),
    ];
    const [home, login, stranger] = visitors.map(({ page }) => page) as [Page, Page, Page];
    const contents = [
      home.getByRole("link", { name: "Kept in view" }),
      login.getByLabel("Password"),
      stranger.getByRole("heading", { name: "Kept in view" }),
    ];
    await Promise.all([
      home.goto(proxy.url),
      login.goto(`${proxy.url}/login`),
      stranger.goto(proxy.url + shared),
    ]);
    for (const content of contents) await content.waitFor();
    await login.getByLabel("Email address").fill("nobody@example.com");
    proxy.hang();
    for (const [index, { page }] of visitors.entries()) {
      await lostBanner(page).waitFor();
      expect(await contents[index]?.isVisible()).toBe(true);
      await expectAccessible(page);
    }
    proxy.continue();
    for (const { page } of visitors) {
      await page.getByText("Connected again").waitFor();
      await lostBanner(page).waitFor({ state: "detached" });
    }
    // The pages work again.
    expect(await login.getByLabel("Email address").inputValue()).toBe("nobody@example.com");
    await login.getByLabel("Password").fill("not the password");
    await login.getByRole("button", { name: "Sign in" }).click();
    await login.getByRole("alert").getByText("The email address or password is incorrect.").waitFor();
    await home.getByRole("link", { name: "Runs", exact: true }).first().click();
    await home.getByRole("row", { name: /Kept in view/ }).waitFor();
  });

  test("the loss is noticed within 5 s, and a busy server has time to respond", () => {
    expect(MAX_SILENCE_MS + PROBE_TIMEOUT_MS).toBeLessThanOrEqual(4_800);
    expect(PROBE_TIMEOUT_MS).toBeGreaterThanOrEqual(3_000);
  });

  test("a new visit to the runs shows those of the last one, with their age", async () => {
    const { page, context } = await app.visit("/runs");
    const row = page.getByRole("row", { name: /Kept in view/ });
    await row.waitFor();
    await openInApp(page, "/");
    await page.getByRole("link", { name: "Kept in view" }).waitFor();
    await goOffline(page);
    await lostBanner(page).waitFor();
    await openInApp(page, "/runs");
    await row.waitFor();
    await page.getByText(/^Showing .* runs?, as of \d+:\d+:\d+$/).waitFor();
    await expectAccessible(page);
    // These were never loaded, and runs that do not match are not shown as if they did.
    await openInApp(page, "/runs?state=FAILED");
    await page.getByText("These runs load when the connection is back.").waitFor();
    await openInApp(page, "/runs");
    await row.waitFor();
    await app.create(["SAY: meanwhile"], { title: "Started meanwhile" });
    await context.setOffline(false);
    await page.getByRole("row", { name: /Started meanwhile/ }).waitFor();
    await page.getByText(/^Showing all \d+ runs$/).waitFor();
  });

  test("a page whose code is not loaded yet opens when the connection is back", async () => {
    const { page, context } = await app.visit("/skills", { theme: "dark", size: "phone" });
    await page.getByRole("heading", { name: "Skills", exact: true }).waitFor();
    await goOffline(page);
    await openInApp(page, "/keys");
    await lostBanner(page).waitFor();
    await expectAccessible(page);
    await context.setOffline(false);
    await page.getByRole("heading", { name: "Keys", exact: true }).waitFor();
    await lostBanner(page).waitFor({ state: "detached" });
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
      await lostBanner(page).waitFor();
      await page.getByText(/^Last seen: /).waitFor();
      expect(await page.getByText("first words").first().isVisible()).toBe(true);
    });
    await lostBanner(page).waitFor({ state: "detached" });
    await page.getByText("Working", { exact: true }).waitFor();
    await app.call("POST", `/agent/runs/${id}/cancel`);
    await page.getByText("Cancelled").first().waitFor();
  });
});
