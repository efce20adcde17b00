import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { patience } from "../../packages/worker/test/world.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const runIdOf = async (page: Page) => {
  await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  return page.url().slice(-36);
};
const prompt = (page: Page) => page.getByRole("textbox", { name: "What should the agent do?" });

describe("a first visit", () => {
  test("offers one run that works here, and says that no LLM plays it", async () => {
    const { page, complaints } = await world.visit("/");
    await page.getByText("It is no LLM").waitFor();
    await page.getByText("gives it your repositories").waitFor();
    await expectAccessible(page);
    await world.worker();
    await page.getByRole("button", { name: "Run this" }).click();
    const run = await runIdOf(page);
    await world.until(run, "SUCCEEDED");
    const said = (await world.events(run)).filter(({ type }) => type === "command.output");
    expect(said.map(({ data }) => data.text).join("")).toContain("Hello from a sandbox");
    expect(complaints).toEqual([]);
  });
});

describe("the form", () => {
  test("starts a run by keyboard alone", async () => {
    const { page, complaints } = await world.visit("/");
    await page.getByRole("heading", { name: "Home" }).waitFor();
    await page.keyboard.press("c");
    await page.keyboard.type("SAY: by keys");
    await page.keyboard.press("Control+Enter");
    const run = await world.get(await runIdOf(page));
    expect(run.prompt).toBe("SAY: by keys");
    expect(complaints).toEqual([]);
  });

  test("sends every option, and remembers how, but neither what nor the values of MCP servers", async () => {
    const environment = await world.call("POST", "/agent/environments", { body: { name: "web-app" } });
    const { page, complaints } = await world.visit("/");
    await prompt(page).fill("SAY: all of it");
    await page.getByRole("combobox", { name: "Environment" }).selectOption("web-app");
    await page.getByRole("combobox", { name: "Model" }).selectOption("scripted");
    await page.getByRole("button", { name: /^Options/ }).click();
    const fields = {
      Title: "Everything",
      "Cost limit, $": "1.5",
      "Time limit, minutes": "30",
      "Step limit": "12",
      "Priority, −10 to 10": "3",
      "Base prompt": "Be brief.",
      "Output schema": '{"type":"object"}',
      Metadata: "team=platform\nticket=481",
      "Keep the sandbox, minutes": "0",
    };
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text);
    await page.getByRole("button", { name: "Add an MCP server" }).click();
    const server = page.getByRole("group", { name: "MCP servers" });
    await server.getByLabel("Name").fill("tickets");
    await server.getByLabel("Address", { exact: true }).fill("https://mcp.invalid/v1");
    await server.getByLabel("Headers").fill("Authorization: Bearer hush-hush");
    await page.getByLabel("Files").setInputFiles({
      name: "notes.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("remember the milk"),
    });
    await page.getByRole("button", { name: "Options 11 set" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Start run" }).click();
    const run = await world.get(await runIdOf(page));
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
    expect(await page.getByRole("combobox", { name: "Environment" }).inputValue()).toBe(
      environment.body.environment_id,
    );
    expect(await page.getByLabel("Headers").inputValue()).toBe("Authorization:");
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    expect(kept).toContain("tickets");
    expect(kept).not.toContain("hush-hush");
    expect(complaints).toEqual([]);
  });

  test("shows what the API refuses at its field, and keeps what was typed over it and over a reload", async () => {
    const { page, complaints } = await world.visit("/");
    await prompt(page).fill("SAY: not yet");
    await page.getByRole("button", { name: /^Options/ }).click();
    await page.getByLabel("Skill").fill("nonsense");
    await page.getByLabel("Step limit").fill("0");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText("It must be `owner/repo:skill-name`").waitFor();
    expect(await page.getByLabel("Skill").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("Step limit").and(page.locator(":focus")).waitFor();
    expect(await prompt(page).inputValue()).toBe("SAY: not yet");
    await expectAccessible(page);

    await page.getByLabel("Output schema").fill("{ not JSON");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText("It is not JSON").waitFor();

    await page.reload();
    await page.getByRole("button", { name: "Options 3 set" }).click();
    expect(await prompt(page).inputValue()).toBe("SAY: not yet");
    expect(await page.getByLabel("Skill").inputValue()).toBe("nonsense");
    // The browser itself tells of the refused request, and of nothing else.
    expect(complaints.filter((complaint) => !complaint.includes("400"))).toEqual([]);
  });
});

describe("below the form", () => {
  test("a question, a failure and what works stand there with their reasons, and change without a reload", async () => {
    const { page, complaints } = await world.visit("/", { size: "phone", theme: "dark" });
    const group = (name: string) => page.getByRole("region", { name });
    await group("Finished").waitFor();
    const asking = await world.create(["ASK: Red or blue?"], { title: "Choose a colour" });
    await world.create(["FAIL: The oven is broken."], { title: "Bake a \u202ecake" });
    const attention = group("Needs attention");
    await attention.getByText("Red or blue?").waitFor(patience);
    await attention.getByText("The oven is broken.").waitFor(patience);
    await attention.getByText("Bake a ⟨U+202E⟩cake").waitFor();
    const address = await attention
      .getByRole("link", { name: "Answer Choose a colour" })
      .getAttribute("href");
    expect(address).toBe(`/runs/${asking}`);

    const working = await world.create(["RUN: sleep 600"], { title: "Long walk" });
    await group("Running").getByRole("listitem").filter({ hasText: "Working" }).waitFor(patience);
    await expectAccessible(page);
    await world.call("POST", `/agent/runs/${working}/cancel`);
    await group("Finished").getByRole("listitem").filter({ hasText: "Long walk" }).waitFor(patience);
    await group("Running").getByText("Nothing is at work.").waitFor(patience);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(complaints).toEqual([]);
  });
});
