import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeFolder, Origin } from "../../packages/worker/test/git-server.ts";
import { patience } from "../../packages/worker/test/world.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 60_000 });

let world: WebWorld;
let place: ReturnType<typeof makeFolder>;

beforeAll(async () => {
  place = makeFolder();
  world = await startWebWorld();
});
afterAll(async () => {
  await world?.stop();
  place.remove();
});

describe("skills", () => {
  test("without any, the page teaches how one comes about", async () => {
    const { page, complaints } = await world.visit("/skills", { theme: "dark", size: "phone" });
    await page.getByRole("heading", { name: "No skills found yet" }).waitFor();
    await page.getByText("skills/release-notes/SKILL.md").waitFor();
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test("what a build found is listed with its environment, its spec is copied, and a run takes it along", async () => {
    const tools = new Origin(place.folder, "tools");
    const front = "---\nname: release-notes\ndescription: Writes the notes of a release.\n---\n";
    tools.push("main", { "skills/notes/SKILL.md": `${front}Write them.\n` });
    await world.worker({ repositoryPaths: [place.folder] });
    const { body } = await world.call("POST", "/agent/environments", {
      body: { name: "tools", repos: [{ url: `file://${tools.bare}` }] },
    });
    await world.call("POST", `/agent/environments/${body.environment_id}/builds`);
    const [skill] = await vi.waitUntil(async () => {
      const { skills } = (await world.call("GET", "/agent/skills")).body;
      return skills.length > 0 ? skills : undefined;
    }, patience);

    const { page, complaints } = await world.visit("/skills");
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
    expect(await form.getByLabel("Environment", { exact: true }).inputValue()).toBe(body.environment_id);
    expect(new URL(page.url()).search).toBe("");
    expect(complaints).toEqual([]);
  });
});
