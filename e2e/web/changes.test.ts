import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { expectShortTasks } from "./support/main-thread.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

const MAX_NODES = 6_000;

let app: WebApp;
let run: string;

beforeAll(async () => {
  app = await startWebApp();
  await app.worker();
  // Each file has 70 lines of code, so that 200 files have 14,000.
  run = await app.create([
    `RUN: mkdir -p src/parts lib && for n in $(seq 200); do f=src/parts/part-$n.ts; [ $n -gt 150 ] && f=lib/lib-$n.ts; for l in $(seq 70); do echo "export const value_$l = compute('part $n', { line: $l, retries: 3 }); // line $l"; done > $f; done`,
    "SAY: done",
  ]);
  await app.until(run, "SUCCEEDED");
});
afterAll(() => app?.stop());

const badge = (page: Page) =>
  page.getByRole("navigation", { name: "Run sections" }).getByRole("link", { name: /^Changes ?200$/ });
const cards = (page: Page) => page.getByRole("article");
const region = (page: Page, path: string) => page.getByRole("region", { name: `Changes in ${path}` });

describe("a run that changes 200 files", () => {
  test("counts all of them in the badge, also on its shared page", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await badge(page).waitFor();
    const { body } = await app.call("POST", `/agent/runs/${run}/share`, { body: {} });
    const stranger = await app.visit(body.link, { signedIn: false });
    await badge(stranger.page).waitFor();
    expect([...consoleErrors, ...stranger.consoleErrors]).toEqual([]);
  });

  test("shows them collapsed beyond 20, in few DOM nodes", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}?tab=changes`);
    await page.getByRole("heading", { name: "200 files changed" }).waitFor();
    await region(page, "lib/lib-151.ts").getByText("value_1").first().waitFor();
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(MAX_NODES);
    await page.getByRole("button", { name: "Expand all" }).click();
    await page.getByRole("button", { name: "Collapse all" }).waitFor();
    const tree = page.getByRole("navigation", { name: "Changed files" });
    await tree.getByRole("searchbox", { name: "Filter files" }).fill("part-99");
    await tree.getByRole("button", { name: /^part-99\.ts/ }).click();
    await region(page, "src/parts/part-99.ts").getByText("line 1").first().waitFor();
    await vi.waitFor(async () => expect(await cards(page).count()).toBeLessThan(40), waitOptions);
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(MAX_NODES);
    expect(consoleErrors).toEqual([]);
  });

  test("scrolls through all of them without a task over 100 ms", async () => {
    const { page } = await app.visit(`/runs/${run}?tab=changes`);
    await region(page, "lib/lib-151.ts").getByText("value_1").first().waitFor();
    const scroller = page.getByRole("region", { name: "changes", exact: true });
    await expectShortTasks(page, async () => {
      await page.getByRole("button", { name: "Expand all" }).click();
      await page.getByRole("article").first().hover();
      for (let step = 0; step < 25; step++) {
        await page.mouse.wheel(0, 900);
        await page.evaluate("new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))");
      }
      await vi.waitFor(async () => {
        await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight));
        expect(await region(page, "src/parts/part-99.ts").isVisible()).toBe(true);
      }, waitOptions);
    });
  });

  test("remembers viewed files and the layout after a reload", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}?tab=changes`);
    const first = cards(page).first();
    await first.getByRole("checkbox", { name: "Viewed" }).check();
    await page.getByText("1 of 200 viewed").waitFor();
    expect(await first.getByRole("region").count()).toBe(0);
    await page.getByRole("button", { name: "Split", exact: true }).click();
    await page.reload();
    await page.getByText("1 of 200 viewed").waitFor();
    expect(await first.getByRole("checkbox", { name: "Viewed" }).isChecked()).toBe(true);
    expect(await page.getByRole("button", { name: "Split", exact: true }).getAttribute("aria-pressed")).toBe(
      "true",
    );
    await expectAccessible(page);
    await first.getByRole("checkbox", { name: "Viewed" }).uncheck();
    await first.getByRole("region").waitFor();
    expect(consoleErrors).toEqual([]);
  });
});

describe("a run whose environment creates files", () => {
  const changes = (page: Page) =>
    page.getByRole("navigation", { name: "Run sections" }).getByRole("link", { name: /^Changes/ });
  let changed: string;

  beforeAll(async () => {
    const { body } = await app.call("POST", "/agent/environments", {
      body: {
        name: "creates-files",
        setup_commands: ["touch a.txt", "echo one > one.txt", "echo two > two.txt"],
      },
    });
    const { id } = await app.runIn(body.environment_id, ["WRITE: notes.md | # Notes", "SAY: done"]);
    changed = id;
  });

  test("has one number of changed files in the badge, the tab and the API", async () => {
    const { artifacts } = await app.get(changed);
    expect(artifacts).toMatchObject([{ artifact_type: "PATCH", files_changed: 4 }]);
    const { page, consoleErrors } = await app.visit("/runs");
    const seen = await collectBadges(page);
    await page.goto(`/runs/${changed}`);
    await page.getByRole("article", { name: "Succeeded" }).waitFor();
    await changes(page).click();
    await page.getByRole("heading", { name: "4 files changed" }).waitFor();
    expect(await seen()).toEqual(["Changes4"]);
    expect(consoleErrors).toEqual([]);
  });

  test("has the same number on its shared page", async () => {
    const { body } = await app.call("POST", `/agent/runs/${changed}/share`, { body: {} });
    const { page, consoleErrors } = await app.visit("/favicon.svg", { signedIn: false, size: "phone" });
    const seen = await collectBadges(page);
    await page.goto(body.link);
    await page.getByRole("article", { name: "Succeeded" }).waitFor();
    await changes(page).click();
    await page.getByRole("heading", { name: "4 files changed" }).waitFor();
    expect(await seen()).toEqual(["Changes4"]);
    expect(consoleErrors).toEqual([]);
  });
});

/** Records each text that the tab of the changes shows from the next page on. */
async function collectBadges(page: Page): Promise<() => Promise<unknown>> {
  await page.addInitScript(`
    window.badges = [];
    new MutationObserver(() => {
      const text = document.querySelector("nav[aria-label='Run sections'] a[href*='tab=changes']")?.textContent;
      if (text && badges.at(-1) !== text) badges.push(text);
    }).observe(document, { childList: true, subtree: true, characterData: true });`);
  return () => page.evaluate("badges");
}
