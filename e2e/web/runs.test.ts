import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { seedRuns } from "./support/seed-runs.ts";
import { invite, signInByLink } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const row = (page: Page, title: string) => page.getByRole("row").filter({ hasText: title });
const focused = (page: Page) => page.locator(":focus");
const fits = "document.documentElement.scrollWidth <= innerWidth";

test("explains runs while there are none", async () => {
  const { page, consoleErrors } = await app.visit("/runs");
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  await page.locator("main").getByRole("link", { name: "New run" }).last().click();
  await page.getByRole("textbox", { name: "What should the agent do?" }).and(focused(page)).waitFor();
  expect(consoleErrors).toEqual([]);
});

describe("a list of 2,000 runs", () => {
  beforeAll(() => seedRuns(app, 2_000));

  test("loads by scrolling and renders only visible rows", async () => {
    const { page, consoleErrors } = await app.visit("/runs");
    await page.getByText("Showing the first 100 of 2,001 runs").waitFor();
    await row(page, "Seeded 2000").waitFor();
    await expectAccessible(page);
    const boxes = await Promise.all(
      ["Select all loaded runs", "Select Seeded 2000"].map((name) =>
        page.getByRole("checkbox", { name }).boundingBox(),
      ),
    );
    expect(boxes[0]?.x).toBe(boxes[1]?.x);
    await vi.waitFor(async () => {
      await page.evaluate("scrollTo(0, document.body.scrollHeight)");
      await page.getByText("Showing all 2,001 runs").waitFor({ timeout: 200 });
    }, waitOptions);
    await page.evaluate("scrollTo(0, document.body.scrollHeight)");
    await row(page, "The first of all").waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(80);
    expect(consoleErrors).toEqual([]);
  });

  test("applies filters and keeps them in the URL", async () => {
    const { page, consoleErrors } = await app.visit("/runs");
    await page.getByRole("button", { name: "State" }).click();
    await page.getByRole("checkbox", { name: "Failed" }).check();
    await page.waitForURL(/state=FAILED/);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Metadata" }).click();
    await page.getByLabel("Label").fill("team=blue");
    await page.keyboard.press("Enter");
    await page.waitForURL(/metadata=/);
    await page.keyboard.press("Escape");
    // Every fifth run failed, and every fourth has the label.
    await page.getByText("Showing all 100 runs").waitFor();
    await page.reload();
    await page.getByText("Showing all 100 runs").waitFor();
    await page.getByRole("button", { name: "State: Failed" }).waitFor();

    await page.getByRole("button", { name: "Name" }).click();
    await page.getByRole("combobox", { name: "Name" }).fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "No matching runs" }).waitFor();
    await page.getByRole("link", { name: "Show all runs" }).click();
    await page.getByText("Showing the first 100 of 2,001 runs").waitFor();
    expect(new URL(page.url()).search).toBe("");

    await page.getByRole("button", { name: "Created" }).click();
    await page.getByLabel("End date").fill("2020-01-01");
    await page.getByRole("heading", { name: "No matching runs" }).waitFor();
    await page.getByRole("button", { name: "Any time" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("searchbox", { name: "Search runs" }).fill("seeded 1234");
    await page.waitForURL(/q=seeded/);
    await row(page, "Seeded 1234").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("has predefined views, sorting and columns", async () => {
    const { page, consoleErrors } = await app.visit("/runs");
    const views = page.getByRole("navigation", { name: "Views" });
    await views.getByRole("link", { name: "Failed" }).click();
    await page.waitForURL(/state=FAILED/);
    await page.getByRole("columnheader", { name: "Title" }).getByRole("link").click();
    await page.waitForURL(/sort=title/);
    await row(page, "Seeded 10").first().waitFor();
    await app.db`update runs set cost_usd = 12.5 where title = 'Seeded 7'`;
    await views.getByRole("link", { name: "All" }).click();
    await page.getByRole("columnheader", { name: "Cost" }).getByRole("link").click();
    await page
      .getByRole("row")
      .nth(1)
      .filter({ hasText: /Seeded 7\b/ })
      .waitFor();
    await views.getByRole("link", { name: "All" }).click();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByRole("checkbox", { name: "Model" }).check();
    await page.getByRole("checkbox", { name: "Source" }).uncheck();
    await page.reload();
    await page.getByRole("columnheader", { name: "Model" }).waitFor();
    expect(await page.getByRole("columnheader", { name: "Source" }).count()).toBe(0);
    expect(consoleErrors).toEqual([]);
  });

  test("saves views on the server and shares them with others", async () => {
    const { page, consoleErrors } = await app.visit(
      "/runs?state=FAILED&metadata=team%3Dblue&from=2020-01-01",
    );
    const views = page.getByRole("navigation", { name: "Views" });
    await page.getByRole("columnheader", { name: "Title" }).getByRole("link").click();
    await page.waitForURL(/sort=title/);
    await views.getByRole("button", { name: "Save view" }).click();
    await page.keyboard.type("Blue failures");
    await page.getByLabel("Share with everyone").check();
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await views
      .getByRole("link", { name: "Blue failures", exact: true })
      .and(page.locator("[aria-current]"))
      .waitFor();
    const [view] = (await app.call("GET", "/agent/views")).body.views;
    expect(view).toMatchObject({ query: { state: ["FAILED"], metadata: { team: "blue" } }, is_shared: true });

    await page.getByRole("button", { name: "State: Failed" }).click();
    await page.getByRole("checkbox", { name: "Cancelled" }).check();
    await page.keyboard.press("Escape");
    await views.getByRole("button", { name: "Save changes" }).click();
    await views.getByRole("button", { name: "Save changes" }).waitFor({ state: "detached" });

    // Another member opens it in another browser, and cannot change it.
    const link = await invite(app, "viewer@example.com", "Viewer");
    const other = await app.visit(link, { signedIn: false });
    await signInByLink(other.page);
    await other.page.goto("/runs");
    await other.page.getByRole("link", { name: "Blue failures" }).click();
    await other.page.waitForURL(/state=FAILED%2CCANCELLED.*sort=title/);
    await other.page.getByText("Showing all 100 runs").waitFor();
    await other.page.getByRole("button", { name: "Actions for view Blue failures" }).click();
    await other.page.getByRole("menuitem", { name: "Copy link" }).waitFor();
    expect(await other.page.getByRole("menuitem", { name: "Delete view" }).count()).toBe(0);

    await views.getByRole("button", { name: "Actions for view Blue failures" }).click();
    await expectAccessible(page);
    await page.getByRole("menuitem", { name: "Delete view" }).click();
    await views.getByRole("link", { name: "Blue failures" }).waitFor({ state: "detached" });
    expect((await app.call("GET", "/agent/views")).body.views).toEqual([]);
    expect(consoleErrors).toEqual([]);
  });

  test("supports keyboard navigation, selection and opening", async () => {
    const { page, consoleErrors } = await app.visit("/runs");
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
    expect(consoleErrors).toEqual([]);
  });

  test("shows cards on a phone without horizontal scrolling", async () => {
    const { page, consoleErrors } = await app.visit("/runs?state=FAILED", { size: "phone", theme: "dark" });
    await row(page, "Seeded 2000").waitFor();
    expect(await page.getByRole("columnheader").count()).toBe(0);
    expect(await page.evaluate(fits)).toBe(true);
    await expectAccessible(page);
    await page.setViewportSize({ width: 1024, height: 700 });
    await page.getByRole("columnheader", { name: "Title" }).waitFor();
    expect(await page.evaluate(fits)).toBe(true);
    expect(consoleErrors).toEqual([]);
  });
});

describe("live updates", () => {
  beforeAll(() => app.worker());

  test("update rows in place, and offer new runs without moving the list", async () => {
    const first = await app.create(["RUN: sleep 600"], { title: "Slow one" });
    const { page, consoleErrors } = await app.visit("/runs");
    await row(page, "Slow one").filter({ hasText: "Working" }).waitFor(waitOptions);
    const before = await row(page, "Slow one").boundingBox();
    const second = await app.create(["SAY: hi"], { title: "Quick one" });
    await app.create(["SAY: hi"], { title: "Another quick one" });
    await app.until(second, "SUCCEEDED");
    const bar = page.getByRole("button", { name: "Show 2 new runs" });
    await bar.waitFor(waitOptions);
    expect(await row(page, "Quick one").count()).toBe(0);
    await app.call("POST", `/agent/runs/${first}/cancel`);
    await row(page, "Slow one").filter({ hasText: "Cancelled" }).waitFor(waitOptions);
    expect(await row(page, "Slow one").boundingBox()).toEqual(before);
    await bar.click();
    await row(page, "Another quick one").filter({ hasText: "Succeeded" }).waitFor();
    expect(await bar.count()).toBe(0);
    expect(consoleErrors).toEqual([]);
  });

  test("cancel several runs after confirmation and show each result", async () => {
    const sleepers = await Promise.all(
      ["One", "Two"].map((title) => app.create(["RUN: sleep 600"], { title: `Sleeper ${title}` })),
    );
    const asking = await app.create(["ASK: Go on?"], { title: "Sleeper Three" });
    const { page, consoleErrors } = await app.visit("/runs?q=sleeper");
    await row(page, "Sleeper One").filter({ hasText: "Working" }).waitFor(waitOptions);
    await row(page, "Sleeper Two").filter({ hasText: "Working" }).waitFor(waitOptions);
    await row(page, "Sleeper Three").filter({ hasText: "Needs input" }).waitFor(waitOptions);
    await page.getByRole("checkbox", { name: "Select all loaded runs" }).check();
    await page.getByRole("region", { name: "Selected runs" }).getByRole("button", { name: "Cancel" }).click();
    const dialog = page.getByRole("dialog", { name: "Cancel 3 runs?" });
    await dialog.getByText("Completed work is kept").waitFor();
    await expectAccessible(page);
    // One run finishes while the dialog is open, so it can no longer be cancelled.
    await app.followUp(asking, ["SAY: thanks"]);
    await app.until(asking, "SUCCEEDED");
    await dialog.getByRole("button", { name: "Cancel 3 runs" }).click();
    const outcome = page.getByRole("dialog", { name: "Cancelling runs" });
    await outcome
      .getByRole("listitem")
      .filter({ hasText: "Sleeper Three" })
      .getByText(/ended|finished|SUCCEEDED/)
      .waitFor();
    await outcome.getByText("Cancelled").nth(1).waitFor();
    await outcome.getByRole("button", { name: "Done" }).click();
    for (const run of sleepers) await app.until(run, "CANCELLED");
    await row(page, "Sleeper One").filter({ hasText: "Cancelled" }).waitFor();
    await page.getByText("selected").waitFor({ state: "detached" });
    // The browser logs the rejected request, and nothing else.
    expect(consoleErrors.filter((text) => !text.includes("409"))).toEqual([]);
  });

  test("re-run and delete several runs, and show the progress", async () => {
    for (const title of ["Bulk one", "Bulk two"]) {
      await app.until(await app.create(["SAY: hi"], { title }), "SUCCEEDED");
    }
    const { page, consoleErrors } = await app.visit("/runs?q=bulk");
    await row(page, "Bulk two").waitFor();
    const bar = page.getByRole("region", { name: "Selected runs" });
    await page.getByRole("checkbox", { name: "Select all loaded runs" }).check();
    await bar.getByRole("button", { name: "Re-run" }).click();
    await page.getByRole("button", { name: "Re-run 2 runs" }).click();
    await page.getByRole("dialog").getByText("2 of 2").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Show 2 new runs" }).click(waitOptions);
    await vi.waitFor(async () => expect(await row(page, "Bulk two").count()).toBe(2), waitOptions);
    await row(page, "Bulk one").filter({ hasText: "Succeeded" }).nth(1).waitFor(waitOptions);
    await row(page, "Bulk two").filter({ hasText: "Succeeded" }).nth(1).waitFor(waitOptions);

    await page.getByRole("checkbox", { name: "Select all loaded runs" }).check();
    await bar.getByText("4 selected").waitFor();
    await bar.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 4 runs?" });
    await dialog.getByText("This cannot be undone").waitFor();
    await dialog.getByRole("button", { name: "Delete 4 runs" }).click();
    await page.getByRole("dialog").getByText("4 of 4").waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "No matching runs" }).waitFor();
    expect((await app.call("GET", "/agent/runs?q=bulk")).body.runs).toEqual([]);
    expect(consoleErrors).toEqual([]);
  });
});
