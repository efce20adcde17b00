import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption, chosenValue } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

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
    await page.getByLabel("Files").setInputFiles({
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("remember the milk"),
    });
    await page.getByRole("button", { name: "Options 11 set" }).waitFor();
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
});

describe("run overview", () => {
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
