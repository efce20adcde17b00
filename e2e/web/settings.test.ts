import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { comeInByLink, invite, linkFor, PASSWORD, personByEmail } from "./people.ts";
import { expectAccessible, patient, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld({
    OUTRIDER_REQUESTS_PER_MINUTE: "250000",
    OUTRIDER_MAX_STEPS: "77",
    OUTRIDER_QUEUE_TIMEOUT_HOURS: "1.5",
    OUTRIDER_MAX_COST_USD_PER_DAY: "40",
    OUTRIDER_KEEP_EVENTS_DAYS: "30",
    OUTRIDER_KEEP_EVENTS_GB: "2.5",
  });
});
afterAll(() => world?.stop());

const strange = { signedIn: false };

describe("settings", () => {
  test("the name, the theme and single keys are changed", async () => {
    const { page, context, complaints } = await world.visit("/settings");
    await page.getByLabel("Name").fill("Head of Admin");
    await page.getByRole("button", { name: "Save" }).press("Enter");
    await page.getByText("Your name is changed").waitFor();
    await page
      .getByRole("button", { name: /Head of Admin/ })
      .first()
      .waitFor();
    await page.getByRole("button", { name: "Dark" }).click();
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    await expectAccessible(page);
    await page.getByLabel("Shortcuts of a single key").uncheck();
    await page.keyboard.press("?");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.reload();
    expect(await page.getByLabel("Shortcuts of a single key").isChecked()).toBe(false);
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("a password is set, then changed with the old one", async () => {
    await invite(world, "member@example.com", "Member");
    const link = await linkFor(world, "member@example.com");
    const { page, context, complaints } = await world.visit(link, strange);
    await comeInByLink(page);
    await page.getByRole("heading", { name: "Welcome to Outrider" }).waitFor();
    await page.goto("/settings");
    await page.getByRole("button", { name: "Set a password" }).click();
    await page.getByLabel("New password").fill(PASSWORD);
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByText("Your password is set").waitFor();
    expect((await personByEmail(world, "member@example.com")).has_password).toBe(true);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("E-mail address").fill("member@example.com");
    await page.getByLabel("Password").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.waitForURL(`${world.origin}/`);
    await page.goto("/settings");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByLabel("Current password").fill("not it");
    await page.getByLabel("New password").fill("twelve brass kettles in june");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page
      .getByRole("alert")
      .getByText(/is not the password/)
      .waitFor();
    await page.getByLabel("Current password").fill(PASSWORD);
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText("Your password is changed").waitFor();
    expect(complaints.filter((text) => !/status of 40[13]/.test(text))).toEqual([]);
    await context.close();
  });

  test("the last admin keeps the role, and a lost link is replaced", async () => {
    const { page, context, complaints } = await world.visit("/settings?section=people");
    const own = page.getByRole("row", { name: /admin@localhost/ });
    // Who reads the page may be known a moment after who there is.
    await vi.waitUntil(() => own.getByRole("combobox").isDisabled(), patient);
    await own.getByRole("button", { name: /^Actions for/ }).click();
    expect(await page.getByRole("menuitem", { name: "Remove" }).getAttribute("aria-disabled")).toBe("true");
    await page.getByRole("menuitem", { name: "New sign-in link" }).click();
    await page
      .getByRole("dialog")
      .getByText(/\/login#token=orl_/)
      .waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  test("models say what can be used and how to configure more; limits say what holds here and where it is set", async () => {
    const { page, context, complaints } = await world.visit("/settings?section=models");
    await page
      .getByRole("row", { name: /scripted/ })
      .getByText("Default")
      .waitFor();
    await page.getByText("ANTHROPIC_API_KEY=… make run").waitFor();
    await page.getByText(/more that are not configured/).click();
    await page
      .getByRole("row", { name: /ANTHROPIC_API_KEY/ })
      .first()
      .waitFor();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Limits" }).click();
    for (const [name, value] of [
      ["OUTRIDER_MAX_STEPS", "77"],
      ["OUTRIDER_REQUESTS_PER_MINUTE", "250,000 a minute"],
      ["OUTRIDER_QUEUE_TIMEOUT_HOURS", "1.5 hours"],
      ["OUTRIDER_MAX_COST_USD_PER_DAY", /^\$40\.00/],
      ["OUTRIDER_MAX_COST_USD_PER_DAY", /\$0 used/],
      ["OUTRIDER_KEEP_EVENTS_GB", "30 days, at most 2.5 GB"],
      ["OUTRIDER_KEEP_RUNS_DAYS", "for ever"],
    ] as const) {
      const cell = page.getByRole("row", { name: new RegExp(name) }).getByText(value);
      await cell.first().waitFor();
    }
    await page
      .getByRole("row", { name: /Body of a request/ })
      .getByText(/with attachments 16 MiB/)
      .waitFor();
    expect(page.url()).toContain("section=limits");
    await expectAccessible(page);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
