import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chooseOption } from "./support/choose-option.ts";
import { invite, signInByLink } from "./support/users.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const prompt = (page: Page) => page.getByRole("textbox", { name: "What should the agent do?" });

test("creates a template, which another member fills and runs but cannot change", async () => {
  const { page, consoleErrors } = await app.visit("/templates");
  await page.getByRole("heading", { name: "No templates yet" }).waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "New template" }).click();
  const sheet = page.getByRole("dialog", { name: "New template" });
  await sheet.getByRole("button", { name: "Create template" }).click();
  await sheet
    .getByText(/^Name is required/)
    .first()
    .waitFor();
  await sheet.getByLabel("Name").fill("Greet");
  await sheet.getByLabel("Prompt").fill("SAY: {{greeting}}, {{who}}!");
  const greeting = sheet.getByRole("group", { name: "greeting" });
  await greeting.getByLabel("Allowed values").fill("Hello\nGood morning");
  await greeting.getByLabel("Default").fill("Hello");
  await sheet.getByRole("group", { name: "who" }).getByLabel("Description").fill("The name of a person");
  await chooseOption(sheet.getByLabel("Model"), "scripted");
  await expectAccessible(page);
  await sheet.getByRole("button", { name: "Create template" }).click();
  await page.getByRole("listitem").filter({ hasText: "Greet" }).waitFor();
  expect(consoleErrors).toEqual([]);

  const link = await invite(app, "writer@example.com", "Writer");
  const { page: other } = await app.visit(link, { signedIn: false, size: "phone", theme: "dark" });
  await signInByLink(other);
  await other.goto("/");
  await other.getByRole("button", { name: "Use a template" }).click();
  await other.getByRole("button", { name: "Greet" }).click();
  await expectAccessible(other);
  await other.getByRole("button", { name: "Use template" }).click();
  await other.getByText("who needs a value.").waitFor();
  await other.getByRole("textbox", { name: "who" }).fill("{{greeting}}");
  await other.getByRole("button", { name: "Use template" }).click();
  // Values are not searched for variables again.
  expect(await prompt(other).inputValue()).toBe("SAY: Hello, {{greeting}}!");
  await other.getByRole("button", { name: "Start run" }).click();
  await other.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  expect((await app.get(other.url().slice(-36))).agent_config.model_id).toBe("scripted");

  await other.goto("/templates");
  await other.getByRole("link", { name: "Use Greet" }).waitFor();
  expect(await other.getByRole("button", { name: /^(Edit|Delete) Greet/ }).count()).toBe(0);
});

test("saves the typed prompt as a template, edits and deletes it", async () => {
  const { page, consoleErrors } = await app.visit("/");
  await prompt(page).fill("SAY: {{word}}");
  await page.getByRole("button", { name: "Use a template" }).click();
  await page.getByRole("button", { name: "Save prompt as template" }).click();
  const sheet = page.getByRole("dialog", { name: "New template" });
  expect(await sheet.getByLabel("Prompt").inputValue()).toBe("SAY: {{word}}");
  await sheet.getByLabel("Name").fill("greet");
  await sheet.getByRole("button", { name: "Create template" }).click();
  await sheet.getByText("Name is used by another template.").waitFor();
  await sheet.getByLabel("Name").fill("Say a word");
  await sheet.getByRole("button", { name: "Create template" }).click();
  await page.getByText("Template created").waitFor();

  await page.goto("/templates");
  await page.getByRole("button", { name: "Edit Say a word" }).click();
  await page.getByLabel("Prompt").fill("SAY: {{sentence}}");
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByText("Template saved").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("say a word");
  await page.getByRole("option", { name: "New run: Say a word" }).click();
  await page.getByRole("textbox", { name: "sentence" }).fill("It works.");
  await page.getByText("This replaces the prompt that you typed.").waitFor();
  await page.getByRole("button", { name: "Use template" }).click();
  expect(await prompt(page).inputValue()).toBe("SAY: It works.");
  await page.goto("/templates");
  await page.getByRole("button", { name: "Delete Say a word" }).click();
  await page.getByRole("button", { name: "Delete template" }).click();
  await page.getByText("Template deleted").waitFor();
  expect((await app.call("GET", "/agent/templates")).body.templates).toHaveLength(1);
  // The browser logs the rejected request, and nothing else.
  expect(consoleErrors.filter((text) => !text.includes("409"))).toEqual([]);
});
