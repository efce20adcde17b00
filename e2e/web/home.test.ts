import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption, chosenValue } from "./support/choose-option.ts";
import { measureLayoutShift } from "./support/layout-shift.ts";
import { expectAccessible, sizes, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const runIdOf = async (page: Page) => {
  await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  return page.url().slice(-36);
};
const prompt = (page: Page) => page.getByRole("textbox", { name: "What should the agent do?" });

describe("first visit", () => {
  test("offers an example run and says that it does not use an LLM", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await page.getByText("It is not an LLM").waitFor();
    await page.getByText("adds your repositories").waitFor();
    await expectAccessible(page);
    await app.worker();
    await page.getByRole("button", { name: "Run example" }).click();
    const run = await runIdOf(page);
    await app.until(run, "SUCCEEDED");
    const outputs = (await app.events(run)).filter(({ type }) => type === "command.output");
    expect(outputs.map(({ data }) => data.text).join("")).toContain("Hello from a sandbox");
    expect(consoleErrors).toEqual([]);
  });
});

describe("run form", () => {
  test("starts a run by keyboard", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    // The prompt has the focus from the start. Escape leaves it for shortcuts, and one of them returns to it.
    await prompt(page).and(page.locator(":focus")).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("c");
    await page.keyboard.type("SAY: by keys");
    await page.keyboard.press("Control+Enter");
    const run = await app.get(await runIdOf(page));
    expect(run.prompt).toBe("SAY: by keys");
    expect(consoleErrors).toEqual([]);
  });

  test("sends every option, and remembers options but not the prompt or MCP server values", async () => {
    const environment = await app.call("POST", "/agent/environments", { body: { name: "web-app" } });
    const { page, consoleErrors } = await app.visit("/");
    await prompt(page).fill("SAY: all of it");
    await chooseOption(page.getByRole("combobox", { name: "Environment" }), "web-app");
    await chooseOption(page.getByRole("combobox", { name: "Model" }), "scripted");
    await page.getByRole("button", { name: /^Options/ }).click();
    const fields = {
      Title: "Everything",
      "Cost limit (USD)": "1.5",
      "Time limit (minutes)": "30",
      "Step limit": "12",
      "Priority (−10 to 10)": "3",
      "Base prompt": "Be brief.",
      "Output schema": '{"type":"object"}',
      Metadata: "team=platform\nticket=481",
      "Idle timeout (minutes)": "0",
    };
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
    await page.getByRole("button", { name: "Add MCP server" }).click();
    const server = page.getByRole("group", { name: "MCP servers" });
    await server.getByLabel("Name").fill("tickets");
    await server.getByLabel("URL", { exact: true }).fill("https://mcp.invalid/v1");
    await server.getByLabel("Headers").fill("Authorization: Bearer hush-hush");
    await page.getByLabel("Files", { exact: true }).setInputFiles({
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("remember the milk"),
    });
    await page.getByRole("button", { name: "Options 10 set" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Start run" }).click();
    const run = await app.get(await runIdOf(page));
    expect(run).toMatchObject({
      title: "Everything",
      priority: 3,
      limits: { max_cost_usd: 1.5, timeout_minutes: 30, max_steps: 12 },
      metadata: { team: "platform", ticket: "481" },
      output_schema: { type: "object" },
      attachments: [{ file_name: "notes.txt", mime_type: "text/plain", size_bytes: 17 }],
      agent_config: {
        environment_id: environment.body.environment_id,
        model_id: "scripted",
        base_prompt: "Be brief.",
        idle_timeout_minutes: 0,
        mcp_servers: { tickets: { url: "https://mcp.invalid/v1", headers: { Authorization: "***" } } },
      },
    });

    await page.goto("/");
    await page.getByRole("button", { name: "Options 5 set" }).click();
    expect(await prompt(page).inputValue()).toBe("");
    expect(await page.getByLabel("Title").inputValue()).toBe("");
    expect(await page.getByLabel("Step limit").inputValue()).toBe("12");
    expect(await chosenValue(page.getByRole("combobox", { name: "Environment" }))).toBe(
      environment.body.environment_id,
    );
    expect(await page.getByLabel("Headers").inputValue()).toBe("Authorization:");
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    expect(kept).toContain("tickets");
    expect(kept).not.toContain("hush-hush");
    expect(consoleErrors).toEqual([]);
  });

  test("shows API errors at their fields, and keeps the draft after errors and reloads", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await prompt(page).fill("SAY: not yet");
    await page.getByRole("button", { name: /^Options/ }).click();
    await page.getByLabel("Skill").fill("nonsense");
    await page.getByLabel("Step limit").fill("0");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText(/^Skill must be owner\/repo:skill-name or/).waitFor();
    expect(await page.getByLabel("Skill").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Step limit").and(page.locator(":focus")).waitFor();
    expect(await prompt(page).inputValue()).toBe("SAY: not yet");
    await expectAccessible(page);

    await page.getByLabel("Output schema").fill("{ not JSON");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText(/^Output schema must be valid JSON/).waitFor();

    await page.reload();
    await page.getByRole("button", { name: "Options 3 set" }).click();
    expect(await prompt(page).inputValue()).toBe("SAY: not yet");
    expect(await page.getByLabel("Skill").inputValue()).toBe("nonsense");
    // The browser logs the rejected request, and nothing else.
    expect(consoleErrors.filter((text) => !text.includes("400"))).toEqual([]);
  });

  test("attaches pasted, dropped and selected files", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await prompt(page).fill("SAY: read them");
    await page.evaluate(giveFile("paste", "pasted.png"));
    await page.evaluate(giveFile("drop", "dropped.txt"));
    const [chooser] = await Promise.all([
      page.waitForEvent("filechooser"),
      page.getByRole("button", { name: "Attach files" }).click(),
    ]);
    await chooser.setFiles({ name: "chosen.txt", mimeType: "text/plain", buffer: Buffer.from("chosen") });
    const attached = page.getByRole("list", { name: "Attached files" });
    await attached.getByText("chosen.txt").waitFor();
    await page.getByRole("button", { name: "Remove dropped.txt" }).click();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Start run" }).click();
    const { attachments } = await app.get(await runIdOf(page));
    expect(attachments.map((each: { file_name: string }) => each.file_name)).toEqual([
      "pasted.png",
      "chosen.txt",
    ]);
    expect(consoleErrors).toEqual([]);
  });

  test("keeps the draft when the tab is closed", async () => {
    const { page, context } = await app.visit("/");
    await prompt(page).fill("SAY: later");
    await page.close();
    const next = await context.newPage();
    await next.goto("/");
    expect(await prompt(next).inputValue()).toBe("SAY: later");
    // The next user of this browser does not see it.
    await next.getByRole("button", { name: /Admin/ }).click();
    await next.getByRole("menuitem", { name: "Sign out" }).click();
    await next.waitForURL("**/login");
    expect(await next.evaluate("JSON.stringify({ ...localStorage })")).not.toContain("SAY: later");
  });

  test("shows how a re-run differs from the original run", async () => {
    const run = await app.create(["SAY: one", "SAY: two"], { title: "Two sentences" });
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await page.getByRole("button", { name: "Re-run" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Re-run" });
    await dialog.getByText("Same as the original run").waitFor();
    await prompt(page).last().fill("SAY: one\nSAY: three");
    await dialog.getByRole("button", { name: /^Options/ }).click();
    await dialog.getByLabel("Step limit").fill("7");
    const changes = dialog.getByRole("region", { name: "Changes" });
    await changes.getByText("2 fields differ from the original run").waitFor();
    expect(await changes.innerText()).toContain("− SAY: two\n+ SAY: three");
    expect(await changes.innerText()).toContain("default → 7");
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });
});

/** Returns code that simulates a paste or a drop of one file. It is text, because tests have no types of the browser. */
const giveFile = (event: "paste" | "drop", name: string) => `{
  const data = new DataTransfer();
  data.items.add(new File(["content"], "${name}"));
  const options = { clipboardData: data, dataTransfer: data, bubbles: true, cancelable: true };
  const given = "${event}" === "paste" ? new ClipboardEvent("paste", options) : new DragEvent("drop", options);
  document.getElementById("prompt").dispatchEvent(given);
}`;

describe("run overview", () => {
  test("does not shift its layout while it loads, and keeps a long title beside its state", async () => {
    await app.worker();
    const long = await app.create(["ASK: Which?"], { title: `Update ${"all the dependencies ".repeat(8)}` });
    await app.until(long, "BLOCKED");
    const { page } = await app.visit("about:blank", { size: "phone" });
    const shifts = await measureLayoutShift(page, {
      path: "/",
      order: "first",
      ready: () => page.getByRole("region", { name: "Running" }).waitFor(),
    });
    expect(shifts).toEqual([]);
    await page.setViewportSize(sizes.desktop);
    const line = page.getByRole("listitem").filter({ hasText: "Update all the dependencies" });
    const title = await line.getByRole("link").first().boundingBox();
    const state = await line.getByText("Needs input").boundingBox();
    expect(Math.abs((title?.y ?? 0) - (state?.y ?? 99))).toBeLessThan(6);
  });

  test("lists questions, failures and active runs with their reasons, and updates them live", async () => {
    const { page, consoleErrors } = await app.visit("/", { size: "phone", theme: "dark" });
    const group = (name: string) => page.getByRole("region", { name });
    await group("Finished").waitFor();
    const asking = await app.create(["ASK: Red or blue?"], { title: "Choose a colour" });
    await app.create(["FAIL: The oven is broken."], { title: "Bake a \u202ecake" });
    const attention = group("Needs attention");
    await attention.getByText("Red or blue?").waitFor(waitOptions);
    await attention.getByText("The oven is broken.").waitFor(waitOptions);
    await attention.getByText("Bake a ⟨U+202E⟩cake").waitFor();
    const address = await attention
      .getByRole("link", { name: "Answer Choose a colour" })
      .getAttribute("href");
    expect(address).toBe(`/runs/${asking}`);
    // The group empties: a run is dismissed, restored, snoozed, and all others are dismissed at once.
    await page.getByRole("button", { name: "Dismiss Choose a colour" }).click();
    await attention.getByText("Choose a colour").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Undo" }).click();
    await attention.getByText("Choose a colour").waitFor();
    await page.getByRole("button", { name: "Snooze Choose a colour" }).click();
    await page.getByRole("menuitem", { name: "For 1 hour" }).click();
    await attention.getByText("Choose a colour").waitFor({ state: "detached" });
    await attention.getByRole("button", { name: "Dismiss all" }).click();
    await attention.waitFor({ state: "detached" });
    await page.reload();
    await group("Finished").waitFor();
    expect(await attention.count()).toBe(0);
    // A dismissed run that changes its state needs attention again.
    await app.followUp(asking, ["ASK: Are you sure?"]);
    await attention.getByText("Are you sure?").waitFor(waitOptions);

    const working = await app.create(["RUN: sleep 600"], { title: "Long walk" });
    await group("Running").getByRole("listitem").filter({ hasText: "Working" }).waitFor(waitOptions);
    await expectAccessible(page);
    await app.call("POST", `/agent/runs/${working}/cancel`);
    await group("Finished").getByRole("listitem").filter({ hasText: "Long walk" }).waitFor(waitOptions);
    await group("Running").getByText("No active runs").waitFor(waitOptions);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(consoleErrors).toEqual([]);
  });
});
