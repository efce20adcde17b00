import { afterAll, beforeAll, expect, test } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let mine: string;

beforeAll(async () => {
  app = await startWebApp();
  await app.worker();
});
afterAll(() => app?.stop());

const title = "document.title";
const icon = `document.querySelector("link[rel=icon]").getAttribute("href")`;

test("the navigation, the title and the icon show what needs attention", async () => {
  mine = await app.create(["ASK: Which color?"], { title: "Paint the shed" });
  await app.until(mine, "BLOCKED");
  const { page, consoleErrors } = await app.visit("/runs");
  const home = page.getByRole("navigation").first().getByRole("link", { name: "Home" });
  await home.getByText("1 run needs attention").waitFor({ state: "attached" });
  await expect.poll(() => page.evaluate(title), waitOptions).toBe("(1) Runs · Outrider");
  expect(await page.evaluate(icon)).toBe("/favicon-waiting.svg");
  await expectAccessible(page);
  await page.goto(`/runs/${mine}`);
  await expect.poll(() => page.evaluate(title), waitOptions).toBe("Needs input: Paint the shed · Outrider");
  await app.followUp(mine, ["SAY: blue"]);
  await expect.poll(() => page.evaluate(title), waitOptions).toBe("✓ Paint the shed · Outrider");
  expect(await page.evaluate(icon)).toBe("/favicon-succeeded.svg");
  await home.getByText("1 run needs attention").waitFor({ state: "detached" });
  expect(consoleErrors).toEqual([]);
});

/** Records notifications, because a browser without a desktop shows none. */
const recordNotifications = `
  window.shown = [];
  window.Notification = class {
    static permission = "default";
    static async requestPermission() { return (Notification.permission = "granted"); }
    constructor(title) { window.shown.push(title); }
  };
  document.hasFocus = () => false;`;

test("notifies users who choose it when their runs need an answer or end", async () => {
  const { page, context } = await app.visit("/favicon.svg");
  await context.addInitScript(recordNotifications);
  await page.goto("/settings?section=account");
  const setting = page.getByRole("checkbox", { name: /^Notify me when one of my runs/ });
  expect(await setting.isChecked()).toBe(false);
  const loaded = page.waitForResponse((response) => /creator=/.test(response.url()));
  await setting.check();
  await page.getByText("Notifications turned on").waitFor();
  await loaded;
  await expectAccessible(page);
  const asked = await app.create(["ASK: Which color?"], { title: "Ask me" });
  await app.until(asked, "BLOCKED");
  await app.until(await app.create(["SAY: done"], { title: "Quick one" }), "SUCCEEDED");
  await expect
    .poll(() => page.evaluate("window.shown.toSorted()"), { ...waitOptions })
    .toEqual(["Needs input: Ask me", "Succeeded: Quick one"]);
});
