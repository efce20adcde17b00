import { readFile } from "node:fs/promises";
import type { UsageGroup } from "@outrider/sdk";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { measureLayoutShift, type ResponseOrder } from "./support/layout-shift.ts";
import { seedUsage, seedWorkerLoad } from "./support/seed-usage.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

const RUNS = 200_000;
const MAX_LAYOUT_SHIFT = 0.01;

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const card = (page: Page, name: string) => page.getByRole("region", { name, exact: true });

/** Waits until no placeholder is visible. */
const loaded = (page: Page) =>
  page.locator(".animate-pulse").locator("visible=true").first().waitFor({ state: "detached" });

test("says that there are no runs yet", async () => {
  const { page, consoleErrors } = await app.visit("/insights");
  await page.getByRole("heading", { name: "No runs in this period" }).waitFor();
  await expectAccessible(page);
  expect(consoleErrors).toEqual([]);
});

describe("insights over 200,000 runs", () => {
  beforeAll(() => seedUsage(app, { runs: RUNS }));

  test.each([
    { size: "desktop", theme: "light", order: "last" },
    { size: "phone", theme: "dark", order: "first" },
  ] as const)("is complete, accessible and does not move while it loads: $size, $theme", async (look) => {
    const { page, consoleErrors } = await app.visit("about:blank", look);
    await expectNoShift(page, "/insights", look.order, async () => {
      await card(page, "Runs by outcome").getByRole("link").waitFor();
      await page.getByRole("row", { name: /large-model/ }).waitFor();
    });
    const { body } = await app.call("GET", "/usage");
    expect(body.totals.runs).toBeGreaterThan(RUNS / 10);
    const shown = await page.locator("dl > div", { hasText: "Runs" }).first().textContent();
    expect(shown).toContain(body.totals.runs.toLocaleString("en-GB"));
    for (const name of ["Success rate", "Cost", "Duration", "Time in queue", "Worker load"])
      await card(page, name).getByRole("img").waitFor();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await expectAccessible(page);
    const overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    expect(await page.evaluate(overflow)).toBe(0);
    expect(consoleErrors).toEqual([]);
  });

  test("opens the runs behind a point by pointer and by keyboard", async () => {
    const { page } = await app.visit("/insights");
    const link = card(page, "Runs by outcome").getByRole("link");
    await link.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    const target = new URL((await link.getAttribute("href")) ?? "", app.origin);
    const [from, to] = [target.searchParams.get("from") ?? "", target.searchParams.get("to") ?? ""];
    expect(Date.parse(to) - Date.parse(from)).toBe(86_400_000);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/runs?**");
    expect(new URL(page.url()).searchParams.get("from")).toBe(from);
    await page
      .getByRole("link", { name: /^Seeded \d+/ })
      .first()
      .waitFor();
    const { body } = await app.call(
      "GET",
      `/agent/runs?limit=1&created_after=${from}&created_before=${to}&sort_by=created_at`,
    );
    await page.getByRole("link", { name: body.runs[0].title }).waitFor();

    await page.goBack();
    const chart = card(page, "Success rate").getByRole("img");
    await chart.scrollIntoViewIfNeeded();
    const box = (await chart.boundingBox()) as { x: number; y: number; width: number; height: number };
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForURL("**/runs?**state=FAILED**");
  });

  test("opens the failed runs behind a cause", async () => {
    const { page } = await app.visit("/insights");
    const { body: usage } = await app.call("GET", "/usage?group_by=failure");
    const [{ error_code, environment_id }] = usage.groups;
    await card(page, "Failures by cause and environment").getByRole("link").first().click();
    await page.waitForURL("**/runs?**");
    const { searchParams } = new URL(page.url());
    expect(searchParams.get("state")).toBe("FAILED");
    expect(searchParams.get("error_code")).toBe(error_code);
    expect(searchParams.get("environment")).toBe(environment_id);
    const [from, to] = [searchParams.get("from") ?? "", searchParams.get("to") ?? ""];
    const { body } = await app.call(
      "GET",
      `/agent/runs?limit=1&state=FAILED&error_code=${error_code}&environment_id=${environment_id}&created_after=${from}&created_before=${to}&sort_by=created_at`,
    );
    await page.getByRole("link", { name: body.runs[0].title }).first().waitFor();
  });

  test("opens exactly the failed runs without a code and without an environment", async () => {
    const { page } = await app.visit("/insights");
    const { body: usage } = await app.call("GET", "/usage?group_by=failure");
    const group = usage.groups.find((one: UsageGroup) => one.key === " ");
    expect(group.failed).toBeGreaterThan(0);
    await card(page, "Failures by cause and environment")
      .getByRole("row", { name: "Unknown error No environment" })
      .getByRole("link")
      .click();
    await page.waitForURL("**/runs?**");
    const count = group.failed.toLocaleString("en-GB");
    await page.getByText(new RegExp(`^Showing .*\\b${count} runs$`)).waitFor();
    await page.getByRole("button", { name: "Environment: No environment" }).waitFor();
    await page.getByRole("button", { name: "Error: Unknown error" }).waitFor();
  });

  test("keeps the range, the comparison and the grouping in the URL", async () => {
    const { page, consoleErrors } = await app.visit("/insights");
    await page.getByText("compared with the period before").first().waitFor();
    await page.getByRole("button", { name: "7d" }).click();
    await page.waitForURL("**range=7d**");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.waitForURL("**compare=off**");
    await page.getByRole("button", { name: "Environment", exact: true }).click();
    await page.waitForURL("**by=environment**");
    await page.reload();
    const row = page.getByRole("row", { name: /billing/ });
    await row.first().waitFor();
    await loaded(page);
    expect(await page.getByText("Period before").count()).toBe(0);
    expect(await page.getByRole("button", { name: "7d" }).getAttribute("aria-pressed")).toBe("true");
    await page
      .getByRole("region", { name: "Usage by environment" })
      .getByRole("link", { name: "billing" })
      .click();
    await page.waitForURL(/\/runs\?.*environment=/);
    await page
      .getByRole("link", { name: /^Seeded \d+/ })
      .first()
      .waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("shows each chart as a table and downloads it", async () => {
    const { page } = await app.visit("/insights");
    const outcomes = card(page, "Runs by outcome");
    await outcomes.getByRole("link").waitFor();
    await outcomes.getByRole("button", { name: "Show Runs by outcome as table" }).click();
    expect(await outcomes.getByRole("row").count()).toBe(31);
    await expectAccessible(page);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      outcomes.getByRole("button", { name: "Download Runs by outcome as CSV" }).click(),
    ]);
    const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    expect(lines[0]).toBe("Time,Succeeded,Failed,Cancelled,Not ended,Period before");
    expect(lines).toHaveLength(31);
  });

  test("downloads the failures", async () => {
    const { page } = await app.visit("/insights");
    await loaded(page);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download failures as CSV" }).click(),
    ]);
    const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
    const { body } = await app.call("GET", "/usage?group_by=failure&compare=previous");
    const [{ error_code, environment_id, failed, previous, label }] = body.groups;
    const [cause, environment] = label.split(" · ");
    expect(lines[0]).toBe("Cause,Environment,Error code,Environment ID,Failed runs,Period before");
    expect(lines[1]).toBe(
      [cause, environment, error_code, environment_id, failed, previous.failed].join(","),
    );
    expect(lines).toHaveLength(body.groups.length + 1);
  });

  test("shows the course of each environment's runs beside their number", async () => {
    const { page, consoleErrors } = await app.visit("about:blank");
    const { body } = await app.call("GET", "/usage?group_by=environment");
    const { label, runs, points } = body.groups.find((group: UsageGroup) => group.label === "billing");
    const row = page.getByRole("row", { name: new RegExp(`^${label}`) });
    await expectNoShift(page, "/environments", "first", () => row.locator("svg path").first().waitFor());
    await row.getByText(`${runs.toLocaleString("en-GB")} runs`).waitFor();
    const line = await row.locator("svg path").last().getAttribute("d");
    expect(line?.match(/[ML]/g)).toHaveLength(points.length);
    expect(consoleErrors).toEqual([]);
  });
});

test("shows the load of each worker on the last day", async () => {
  await app.worker();
  await vi.waitFor(async () => {
    const { body } = await app.call("GET", "/workers");
    expect(body.workers).toHaveLength(1);
  }, waitOptions);
  await seedWorkerLoad(app, { running: [0, 1, 3, 2] });
  const { page, consoleErrors } = await app.visit("about:blank");
  const load = page.getByRole("img", { name: "Load on the last day: at most 3 of 8 slots" });
  await expectNoShift(page, "/workers", "first", () => load.waitFor());
  const line = await load.locator("path").last().getAttribute("d");
  // The server may have added a measurement since then.
  expect(line?.match(/[ML]/g)?.length).toBeGreaterThanOrEqual(4);
  expect(consoleErrors).toEqual([]);
});

/** Opens a page with slow responses and expects that nothing moves while they arrive. */
async function expectNoShift(
  page: Page,
  path: string,
  order: ResponseOrder,
  ready: () => Promise<unknown>,
): Promise<void> {
  const shifts = await measureLayoutShift(page, {
    path,
    order,
    async ready() {
      await ready();
      await loaded(page);
    },
  });
  const sum = shifts.reduce((total, { value }) => total + value, 0);
  expect(sum, JSON.stringify(shifts, null, 2)).toBeLessThan(MAX_LAYOUT_SHIFT);
}
