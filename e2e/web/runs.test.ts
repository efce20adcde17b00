import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { patience } from "../../packages/worker/test/world.ts";
import { seedRuns } from "./seed-runs.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const row = (page: Page, title: string) => page.getByRole("row").filter({ hasText: title });
const focused = (page: Page) => page.locator(":focus");
const fits = "document.documentElement.scrollWidth <= innerWidth";

test("without any run the page says what will appear, and where it comes from", async () => {
  const { page, complaints } = await world.visit("/runs");
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  await page.getByRole("link", { name: "Start the first one" }).click();
  await page.getByRole("textbox", { name: "What should the agent do?" }).and(focused(page)).waitFor();
  expect(complaints).toEqual([]);
});

describe("two thousand runs", () => {
  beforeAll(() => seedRuns(world, 2_000));

  test("are reached by scrolling, and only those in sight exist", async () => {
    const { page, complaints } = await world.visit("/runs");
    await page.getByText("Showing 100, more below").waitFor();
    await row(page, "Seeded 2000").waitFor();
    await expectAccessible(page);
    await vi.waitFor(async () => {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await page.getByText("Showing 2001, all there are").waitFor({ timeout: 200 });
    }, patience);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await row(page, "The first of all").waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(80);
    expect(complaints).toEqual([]);
  });

  test("are filtered by what stands in the bar, and the address keeps it", async () => {
    const { page, complaints } = await world.visit("/runs");
    await page.getByRole("button", { name: "State" }).click();
    await page.getByRole("checkbox", { name: "Failed" }).check();
    await page.waitForURL(/state=FAILED/);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Metadata" }).click();
    await page.getByLabel("Label").fill("team=blue");
    await page.keyboard.press("Enter");
    await page.waitForURL(/metadata=/);
    await page.keyboard.press("Escape");
    // Every fifth is FAILED, every fourth has the label.
    await page.getByText("Showing 100, all there are").waitFor();
    await page.reload();
    await page.getByText("Showing 100, all there are").waitFor();
    await page.getByRole("button", { name: "State: Failed" }).waitFor();

    await page.getByRole("button", { name: "Name" }).click();
    await page.getByRole("combobox", { name: "Name" }).fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No run fits these filters" }).waitFor();
    await page.getByRole("link", { name: "Show all runs" }).click();
    await page.getByText("Showing 100, more below").waitFor();
    expect(new URL(page.url()).search).toBe("");

    await page.getByRole("button", { name: "Created" }).click();
    await page.getByLabel("Last day").fill("2020-01-01");
    await page.getByRole("heading", { name: "No run fits these filters" }).waitFor();
    await page.getByRole("button", { name: "Any time" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox", { name: "Search runs" }).fill("seeded 1234");
    await page.waitForURL(/q=seeded/);
    await row(page, "Seeded 1234").waitFor();
    expect(complaints).toEqual([]);
  });

  test("have quick views, views of one's own, an order and columns", async () => {
    const { page, complaints } = await world.visit("/runs");
    const views = page.getByRole("navigation", { name: "Views" });
    await views.getByRole("link", { name: "Needs attention" }).click();
    await page.waitForURL(/state=BLOCKED/);
    await page.getByRole("columnheader", { name: "Title" }).getByRole("link").click();
    await page.waitForURL(/sort=title/);
    await row(page, "Seeded 10").first().waitFor();
    await views.getByRole("button", { name: "Save view" }).click();
    await page.keyboard.type("By title");
    await page.keyboard.press("Enter");
    await views.getByRole("link", { name: "All" }).click();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("checkbox", { name: "Model" }).check();
    await page.getByRole("checkbox", { name: "Source" }).uncheck();
    await page.reload();
    await page.getByRole("columnheader", { name: "Model" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Source" }).count()).toBe(0);
    await views.getByRole("link", { name: "By title" }).click();
    await page.waitForURL(/sort=title/);
    await views.getByRole("button", { name: "Forget the view By title" }).click();
    expect(await views.getByRole("link", { name: "By title" }).count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("are walked, selected and opened by keys", async () => {
    const { page, complaints } = await world.visit("/runs");
    await row(page, "Seeded 2000").waitFor();
    for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
    await page.getByRole("link", { name: "Seeded 1999" }).and(focused(page)).waitFor();
    await page.keyboard.press("x");
    await page.getByText("1 selected").waitFor();
    for (const key of ["j", "j", "Shift+X"]) await page.keyboard.press(key);
    await page.getByText("3 selected").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("selected").waitFor({ state: "detached" });
    for (let step = 0; step < 40; step++) await page.keyboard.press("j");
    await page.getByRole("link", { name: "Seeded 1957" }).and(focused(page)).waitFor();
    await page.keyboard.press("/");
    await page.getByRole("searchbox", { name: "Search runs" }).and(focused(page)).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.getByRole("link", { name: "Seeded 1956" }).and(focused(page)).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    await page.goBack();
    await row(page, "Seeded 1956").waitFor();
    await page.keyboard.press("c");
    await page.getByRole("textbox", { name: "What should the agent do?" }).and(focused(page)).waitFor();
    expect(complaints).toEqual([]);
  });

  test("are cards on a phone, and the page does not scroll sideways", async () => {
    const { page, complaints } = await world.visit("/runs?state=FAILED", { size: "phone", theme: "dark" });
    await row(page, "Seeded 2000").waitFor();
    expect(await page.getByRole("columnheader").count()).toBe(0);
    expect(await page.evaluate(fits)).toBe(true);
    await expectAccessible(page);
    await page.setViewportSize({ width: 1024, height: 700 });
    await page.getByRole("columnheader", { name: "Title" }).waitFor();
    expect(await page.evaluate(fits)).toBe(true);
    expect(complaints).toEqual([]);
  });
});

describe("live", () => {
  beforeAll(() => world.worker());

  test("rows change in place, and new ones are announced without moving what is read", async () => {
    const first = await world.create(["RUN: sleep 600"], { title: "Slow one" });
    const { page, complaints } = await world.visit("/runs");
    await row(page, "Slow one").filter({ hasText: "Working" }).waitFor(patience);
    const before = await row(page, "Slow one").boundingBox();
    const second = await world.create(["SAY: hi"], { title: "Quick one" });
    await world.create(["SAY: hi"], { title: "Another quick one" });
    await world.until(second, "SUCCEEDED");
    const bar = page.getByRole("button", { name: "2 new runs · show" });
    await bar.waitFor(patience);
    expect(await row(page, "Quick one").count()).toBe(0);
    await world.call("POST", `/agent/runs/${first}/cancel`);
    await row(page, "Slow one").filter({ hasText: "Cancelled" }).waitFor(patience);
    expect(await row(page, "Slow one").boundingBox()).toEqual(before);
    await bar.click();
    await row(page, "Another quick one").filter({ hasText: "Succeeded" }).waitFor();
    expect(await bar.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test("several are cancelled at once after a question, and each says what became of it", async () => {
    const sleepers = await Promise.all(
      ["One", "Two"].map((title) => world.create(["RUN: sleep 600"], { title: `Sleeper ${title}` })),
    );
    const asking = await world.create(["ASK: Go on?"], { title: "Sleeper Three" });
    const { page, complaints } = await world.visit("/runs?q=sleeper");
    await row(page, "Sleeper One").filter({ hasText: "Working" }).waitFor(patience);
    await row(page, "Sleeper Two").filter({ hasText: "Working" }).waitFor(patience);
    await row(page, "Sleeper Three").filter({ hasText: "Needs an answer" }).waitFor(patience);
    await page.getByRole("checkbox", { name: "Select all that are loaded" }).check();
    await page.getByRole("button", { name: "Cancel runs" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 3 runs?" });
    await dialog.getByText("What they did so far is kept").waitFor();
    await expectAccessible(page);
    // While the question stands, one ends by itself: it is too late for that one.
    await world.followUp(asking, ["SAY: thanks"]);
    await world.until(asking, "SUCCEEDED");
    await dialog.getByRole("button", { name: "Cancel 3 runs" }).click();
    const outcome = page.getByRole("dialog", { name: "Cancelling runs" });
    await outcome.getByRole("listitem").filter({ hasText: "Sleeper Three" }).getByText("409").waitFor();
    await outcome.getByText("Cancelled").nth(1).waitFor();
    await outcome.getByRole("button", { name: "Done" }).click();
    for (const run of sleepers) await world.until(run, "CANCELLED");
    await row(page, "Sleeper One").filter({ hasText: "Cancelled" }).waitFor();
    await page.getByText("selected").waitFor({ state: "detached" });
    // The browser itself tells of the refused request, and of nothing else.
    expect(complaints.filter((complaint) => !complaint.includes("409"))).toEqual([]);
  });
});
