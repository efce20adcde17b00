import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let audit: string;

beforeAll(async () => {
  app = await startWebApp();
  audit = await app.create(["SAY: audited"], { title: "Weekly dependency audit" });
  await app.create(["SAY: fixed"], { title: "Fix the flaky test" });
  await app.call("POST", "/agent/environments", { body: { name: "storefront" } });
  await app.call("POST", "/agent/identities", { body: { name: "release-bot" } });
});
afterAll(() => app?.stop());

/** Looks in the palette only, because the page behind it may have options with the same names. */
const option = (page: Page, name: string | RegExp) => page.getByRole("listbox").getByRole("option", { name });

async function open(page: Page) {
  await page.getByRole("link", { name: "Home" }).first().waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command menu" }).and(page.locator(":focus")).waitFor();
}

test("opens pages, environments and the runs of an agent", async () => {
  const { page, consoleErrors } = await app.visit("/");
  await open(page);
  await option(page, "New run").waitFor();
  await option(page, /Weekly dependency audit/).waitFor();
  await expectAccessible(page);
  await page.keyboard.type("secr");
  await option(page, "Secrets").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/secrets");
  await open(page);
  await page.keyboard.type("storef");
  await option(page, "storefront").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/environments\/[0-9a-f-]{36}/);
  await open(page);
  await page.keyboard.type("release-b");
  await option(page, "release-bot").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/runs\?creator=[0-9a-f-]{36}/);
  expect(consoleErrors).toEqual([]);
});

test("finds runs by text and by ID, and says when there are no results", async () => {
  const { page, consoleErrors } = await app.visit("/runs");
  await open(page);
  await page.keyboard.type("dependency");
  await option(page, /Weekly dependency audit/).waitFor();
  await option(page, /flaky/).waitFor({ state: "detached" });
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${audit}`);
  await open(page);
  await page.keyboard.type(audit);
  await option(page, /Weekly dependency audit/).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${audit}`);
  await open(page);
  await page.keyboard.type("qqqqqqqq");
  await page.getByText("No results").waitFor();
  expect(consoleErrors).toEqual([]);
});

test("runs actions, and restores the focus when closed", async () => {
  const { page, consoleErrors } = await app.visit("/runs", { theme: "dark", size: "phone" });
  await page.getByRole("searchbox", { name: "Search runs" }).focus();
  await page.keyboard.press("Control+k");
  await option(page, "New run").waitFor();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox", { name: "Search runs" }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("light");
  await option(page, "Light theme").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("html[data-theme=light]").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("shortcuts");
  await option(page, "Keyboard shortcuts").waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Next run").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("new run");
  await page.keyboard.press("Enter");
  await page
    .getByRole("textbox", { name: "What should the agent do?" })
    .and(page.locator(":focus"))
    .waitFor();
  expect(consoleErrors).toEqual([]);
});

test("offers the actions of the run whose page is open", async () => {
  const { page, consoleErrors } = await app.visit(`/runs/${audit}`);
  await page.getByRole("heading", { name: "Weekly dependency audit" }).waitFor();
  await open(page);
  await option(page, "Cancel run…").waitFor();
  await option(page, "Re-run…").waitFor();
  await expectAccessible(page);
  await page.keyboard.type("go to raw");
  await page.keyboard.press("Enter");
  await page.waitForURL(/tab=raw/);
  await open(page);
  await page.keyboard.type("copy run id");
  await option(page, "Copy run ID").waitFor();
  await page.keyboard.press("Enter");
  await page.getByText("Run ID copied").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(audit);
  await open(page);
  await page.keyboard.type("cancel run");
  await option(page, "Cancel run").waitFor();
  await page.keyboard.press("Enter");
  await page
    .getByRole("dialog", { name: "Cancel this run?" })
    .getByRole("button", { name: "Keep run" })
    .click();
  await page.getByRole("link", { name: "Runs", exact: true }).first().click();
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await open(page);
  await option(page, "New run").waitFor();
  expect(await option(page, "Cancel run").count()).toBe(0);
  expect(consoleErrors).toEqual([]);
});

test("a toast does not cover the message field", async () => {
  const { page } = await app.visit(`/runs/${audit}`);
  await open(page);
  await page.keyboard.type("copy run id");
  await option(page, "Copy run ID").waitFor();
  await page.keyboard.press("Enter");
  const toast = page.getByText("Run ID copied");
  await toast.waitFor();
  const send = await page.getByRole("form", { name: "Follow-up" }).boundingBox();
  await vi.waitFor(async () => {
    const box = await toast.boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(send?.y ?? 0);
  }, waitOptions);
});
