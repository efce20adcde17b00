import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseOption, optionLabels } from "./support/choose-option.ts";
import { invite, signInByLink } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp({ OPENAI_API_KEY: "none", ANTHROPIC_API_KEY: "none" });
});
afterAll(() => app?.stop());

const select = (page: Page, name: string) => page.getByRole("combobox", { name });
const optionsOf = (page: Page, name: string) => optionLabels(select(page, name));
const expected = (consoleErrors: string[]) => consoleErrors.filter((text) => !/status of 400/.test(text));

describe("harnesses", () => {
  test("a run form offers the models that work with the harness, and explains other combinations", async () => {
    const { page, consoleErrors } = await app.visit("/");
    await page.getByRole("textbox", { name: "What should the agent do?" }).fill("SAY: hello");
    await chooseOption(select(page, "Model"), "scripted");
    await chooseOption(select(page, "Harness"), "codex");
    await page.getByText("Codex is not available now: no worker is connected.").waitFor();
    const models = (await optionsOf(page, "Model")).slice(1);
    expect(models).toContain("scripted");
    expect(models.some((model) => model.startsWith("openai/"))).toBe(true);
    expect(models.some((model) => model.startsWith("anthropic/"))).toBe(false);
    await chooseOption(select(page, "Model"), "");
    await page
      .getByText(/^Model .* does not work with Codex, which needs a model with the OpenAI Responses API/)
      .waitFor();
    await expectAccessible(page);
    await chooseOption(select(page, "Model"), "scripted");
    await page.getByText(/^Model .* does not work/).waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
    const run = await app.get(page.url().slice(-36));
    expect(run.agent_config).toMatchObject({ harness: "codex", model_id: "scripted" });
    expect(expected(consoleErrors)).toEqual([]);
  });

  test("the server's refusal is shown at the field until another harness is chosen", async () => {
    const { page, consoleErrors } = await app.visit("/?prompt=hello&harness=retired");
    await page.getByRole("button", { name: "Start run" }).click();
    await page.getByText(/^Harness is not a harness of this installation/).waitFor();
    await select(page, "Harness").and(page.locator("[aria-invalid=true]:focus")).waitFor();
    await chooseOption(select(page, "Harness"), "claude");
    await page.getByText(/^Harness is not a harness/).waitFor({ state: "detached" });
    expect(expected(consoleErrors)).toEqual([]);
  });

  test("a harness without MCP servers and reasoning effort says so in the options", async () => {
    const { page } = await app.visit("/", { theme: "dark", size: "phone" });
    await page.getByRole("button", { name: /^Options/ }).click();
    await page.getByRole("button", { name: "Add MCP server" }).click();
    await chooseOption(page.getByLabel("Reasoning effort"), "high");
    await chooseOption(select(page, "Harness"), "pi");
    await page
      .getByText("MCP servers do not work with Pi; remove them, or choose another harness.")
      .waitFor();
    await page.getByText("Reasoning effort cannot be set for Pi; choose the default.").waitFor();
    await expectAccessible(page);
  });

  test("an environment and a cloud agent have a default harness", async () => {
    const created = await app.call("POST", "/agent/environments", { body: { name: "with-codex" } });
    const { environment_id: id } = created.body;
    const { page, consoleErrors } = await app.visit(`/environments/${id}`);
    await chooseOption(page.getByLabel("Harness"), "codex");
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByText("All changes saved").waitFor();
    expect((await app.call("GET", `/agent/environments/${id}`)).body.harness).toBe("codex");
    await page.goto("/agents");
    await page.getByRole("button", { name: "New cloud agent" }).click();
    await page.getByLabel("Name", { exact: true }).fill("reviewer");
    await chooseOption(page.getByLabel("Environment"), "with-codex");
    await page.getByLabel("Harness").getByText("Default (Codex)").waitFor();
    await page.getByText(/^Model .* does not work with Codex/).waitFor();
    await chooseOption(page.getByLabel("Harness"), "claude");
    await page.getByText(/^Model .* does not work/).waitFor({ state: "detached" });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create cloud agent" }).click();
    await page.waitForURL((url) => url.pathname === "/keys");
    const { agents } = (await app.call("GET", "/agent/identities")).body;
    expect(agents).toMatchObject([{ name: "reviewer", harness: "claude" }]);
    await page.goto("/agents");
    await page
      .getByRole("row", { name: /reviewer/ })
      .getByText("Claude Code")
      .waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("lists label and filter runs by harness, and a run shows which version executed it", async () => {
    const config = { model_id: "scripted" };
    const run = await app.create(["SAY: one"], {
      title: "By Claude Code",
      config: { ...config, harness: "claude" },
    });
    await app.create(["SAY: two"], { title: "By the built-in one", config });
    await app.db`update runs set receipt = ${app.db.json({
      worker: "builder-1",
      harness_version: "0.1.0",
      harness: {
        name: "claude",
        title: "Claude Code",
        version: "2.3.4",
        packages: { "@agentclientprotocol/claude-agent-acp": "0.99.1" },
      },
      model_id: "scripted",
      network: { mode: "none" },
    })} where run_id = ${run}`;
    const { page, consoleErrors } = await app.visit("/runs");
    await page
      .getByRole("row", { name: /By Claude Code/ })
      .getByText("Claude Code", { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "Harness" }).click();
    await page.getByRole("checkbox", { name: "Outrider" }).check();
    await page.getByRole("row", { name: /By Claude Code/ }).waitFor({ state: "detached" });
    await page.getByRole("row", { name: /By the built-in one/ }).waitFor();
    await page.goto(`/runs/${run}?tab=receipt`);
    await page.getByText("Claude Code 2.3.4").first().waitFor();
    await page.getByText("@agentclientprotocol/claude-agent-acp@0.99.1").waitFor();
    await expectAccessible(page);
    const { link } = (await app.call("POST", `/agent/runs/${run}/share`, { body: {} })).body;
    await page.goto(link);
    await page.getByText(/Admin · Claude Code · scripted/).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("settings list harnesses with the workers that can use them, and why not", async () => {
    const { page, consoleErrors } = await app.visit("/settings?section=harnesses");
    await page.getByText("No worker is connected, so runs wait in the queue.").waitFor();
    const harnessFolder = join(app.dataFolder, "no-agents");
    mkdirSync(harnessFolder);
    await app.worker({ harnessFolder, slots: 1 });
    const row = page.getByRole("row", { name: /Claude Code/ });
    const visible = row.getByRole("list", { name: "Claude Code on workers" }).locator("visible=true");
    await visible.getByText(/worker-1: .*OUTRIDER_HARNESS_FOLDER does not contain it/).waitFor();
    await page.reload();
    await row.getByText("Not available").waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);

    const link = await invite(app, "member@example.com", "Member");
    const member = await app.visit(link, { signedIn: false, theme: "dark", size: "phone" });
    await signInByLink(member.page);
    await member.page.waitForURL((url) => url.pathname !== "/login");
    await member.page.goto("/settings?section=harnesses");
    await member.page
      .getByText("No connected worker can use it: see outrider doctor on the worker.")
      .first()
      .waitFor();
    expect(await member.page.getByText("worker-1").count()).toBe(0);
    await expectAccessible(member.page);
    expect(member.consoleErrors).toEqual([]);
  });
});
