import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StubModel, startStubModel } from "../../packages/agent/test/stub-model/server.ts";
import { chooseOption } from "./support/choose-option.ts";
import { invite, linkFor, PASSWORD, signInByLink } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

const key = "sk-of-the-stub-0123456789";
let app: WebApp;
let stub: StubModel;

beforeAll(async () => {
  stub = await startStubModel({ apiKey: key });
  app = await startWebApp();
  await app.worker();
});
afterAll(async () => {
  await app?.stop();
  await stub?.close();
});

const path = (url: string) => url.slice(app.origin.length);

test("the composer says what the scripted model is and offers scripts", async () => {
  const { page } = await app.visit("/");
  await page.getByText("Scripted is not an AI.").waitFor();
  await page.getByRole("button", { name: "Look around the sandbox" }).click();
  expect(await page.getByLabel("What should the agent do?").inputValue()).toContain("RUN: uname");
});

describe("the welcome", () => {
  test("sets the first admin's address, connects a model whose provider checks the key, and starts a run", async () => {
    const { page } = await app.visit(path(await linkFor(app)), { signedIn: false });
    await page.getByRole("button", { name: "Sign in" }).click();
    const email = page.getByLabel("Email address");
    await email.waitFor();
    expect(await email.inputValue()).toBe("admin@localhost");
    await page.getByLabel("Name", { exact: true }).fill("Ada");
    await email.fill("ada@example.com");
    await page.getByLabel("New password").fill(PASSWORD);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Set password" }).click();
    await page.getByText("You sign in as ada@example.com").waitFor();

    await page.getByRole("button", { name: "OpenAI-compatible" }).click();
    await page.getByLabel("Base URL").fill(stub.baseUrl("chat"));
    await page.getByLabel("API key").fill("sk-wrong-0123456789");
    await page.getByRole("button", { name: "Add model" }).click();
    await page.getByRole("group", { name: "model 1" }).getByLabel("Name").fill("tiny");
    await page.getByRole("button", { name: "Save and test" }).click();
    await page.getByText("rejected the API key").waitFor();
    expect(await page.content()).not.toContain("sk-wrong-0123456789");
    await page.getByLabel("API key").fill(key);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save and test" }).click();
    await page.getByText(/^local\/tiny answered in \d+ ms\./).waitFor();
    await page.getByRole("heading", { name: "Model: local/tiny" }).waitFor();

    await page.getByRole("button", { name: "Start first run" }).click();
    await page.getByRole("heading", { name: "First run finished" }).waitFor();
    const { runs } = (await app.call("GET", "/agent/runs?limit=1")).body;
    expect(runs[0]).toMatchObject({ agent_config: { model_id: "local/tiny" }, state: "SUCCEEDED" });
  });
});

describe("Settings → Models", () => {
  const open = async () => (await app.visit("/settings?section=models")).page;

  test("adds, tests, edits and removes a provider, and sets the default and an alias", async () => {
    const page = await open();
    await page.getByRole("button", { name: "Add provider" }).click();
    await page.getByRole("button", { name: /^Anthropic/ }).click();
    await page.getByLabel("API key").fill(key);
    await page.getByText("More settings").click();
    await page.getByLabel("Base URL").fill(stub.baseUrl("anthropic"));
    await expectAccessible(page);
    await page.getByRole("button", { name: "Save and test" }).click();
    await page
      .getByRole("dialog")
      .getByText(/answered in \d+ ms/)
      .waitFor();
    await page.getByRole("button", { name: "Close" }).last().click();
    const card = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "anthropic" }) });
    await card.getByText("Added here").waitFor();
    await card.getByRole("button", { name: "Test anthropic" }).click();
    await card.getByText(/answered in \d+ ms/).waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Add alias" }).click();
    const alias = page.getByRole("group", { name: "alias 1" });
    await alias.getByRole("textbox", { name: "Alias" }).fill("quick");
    await alias.getByRole("textbox", { name: "Model" }).fill("anthropic/claude-opus-5");
    await chooseOption(page.getByRole("combobox", { name: "Default model" }), "anthropic/claude-opus-5");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Models saved").waitFor();
    const { body } = await app.call("GET", "/agent/model-settings");
    expect(body).toMatchObject({
      effective_default_model_id: "anthropic/claude-opus-5",
      aliases: { quick: "anthropic/claude-opus-5" },
    });
    await card.getByRole("button", { name: "Remove anthropic" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("The alias quick uses a model of anthropic").waitFor();
    await app.call("PUT", "/agent/model-settings", { body: {} });
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("Provider removed").waitFor();
  });

  test("shows members the providers without buttons", async () => {
    const link = await invite(app, "member@example.com", "Member");
    const { page } = await app.visit(path(link), { signedIn: false });
    await signInByLink(page);
    await page.waitForURL(({ pathname }) => pathname === "/" || pathname === "/welcome");
    await page.goto("/settings?section=models");
    await page.getByRole("heading", { name: "local" }).waitFor();
    expect(await page.getByRole("button", { name: /Add provider|Edit|Remove|Test/ }).count()).toBe(0);
  });
});
