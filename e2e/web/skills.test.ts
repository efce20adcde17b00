import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeFolder, Origin } from "../../packages/worker/test/repositories/git-server.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chosenValue } from "./support/choose-option.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

let app: WebApp;
let repositories: ReturnType<typeof makeFolder>;

beforeAll(async () => {
  repositories = makeFolder();
  app = await startWebApp();
});
afterAll(async () => {
  await app?.stop();
  repositories.remove();
});

describe("skills", () => {
  test("explains how to add a skill while there are none", async () => {
    const { page, consoleErrors } = await app.visit("/skills", { theme: "dark", size: "phone" });
    await page.getByRole("heading", { name: "No skills yet" }).waitFor();
    await page.getByText("skills/release-notes/SKILL.md").waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("lists skills found by a build, copies the spec, and starts a run with one", async () => {
    const tools = new Origin(repositories.folder, "tools");
    const front = "---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n";
    tools.push("main", { "skills/notes/SKILL.md": `${front}Write them.\n` });
    await app.worker({ repositoryPaths: [repositories.folder] });
    const { body } = await app.call("POST", "/agent/environments", {
      body: { name: "tools", repos: [{ url: `file://${tools.bare}` }] },
    });
    await app.call("POST", `/agent/environments/${body.environment_id}/builds`);
    const [skill] = await vi.waitUntil(async () => {
      const { skills } = (await app.call("GET", "/agent/skills")).body;
      return skills.length > 0 ? skills : undefined;
    }, waitOptions);

    const { page, consoleErrors } = await app.visit("/skills");
    await page.getByRole("heading", { name: "release-notes" }).waitFor();
    await page.getByText("Writes the notes of a release.").waitFor();
    await page.getByRole("link", { name: "tools" }).waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Copy spec of release-notes" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(skill.skill_spec);
    await page.getByRole("link", { name: /Run with this skill.*release-notes/ }).click();
    const form = page.getByRole("form", { name: "New run" });
    await form.getByRole("button", { name: /Options|More/ }).click();
    expect(await form.getByLabel("Skill", { exact: true }).inputValue()).toBe(skill.skill_spec);
    const environment = form.getByLabel("Environment", { exact: true });
    expect(await chosenValue(environment)).toBe(body.environment_id);
    expect(new URL(page.url()).search).toBe("");
    // With a skill, the prompt can stay empty.
    await form.getByRole("button", { name: /Start run/ }).click();
    await page.getByRole("heading", { name: "Use the skill release-notes." }).waitFor();
    expect(consoleErrors).toEqual([]);
  });
});
