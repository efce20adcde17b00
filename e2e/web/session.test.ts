import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addPerson } from "../../packages/server/src/engine/welcome.ts";
import { asleep, longSleep } from "../../packages/worker/test/world.ts";
import { expectAccessible, startWebWorld, type WebWorld } from "./world.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 });

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

let world: WebWorld;

beforeAll(async () => {
  world = await startWebWorld();
});
afterAll(() => world?.stop());

const state = (page: Page, words: string) => page.getByRole("status").filter({ hasText: words }).first();
const message = (page: Page) => page.getByRole("textbox", { name: "Message to the agent" });
const queued = (page: Page) => page.getByRole("region", { name: "Messages that the agent has not seen yet" });
const send = async (page: Page, text: string, mode?: string) => {
  if (mode)
    await page.getByRole("combobox", { name: "When the agent sees it" }).selectOption({ label: mode });
  await message(page).fill(text);
  await message(page).press("Control+Enter");
};
const clipboard = (page: Page) => page.evaluate("navigator.clipboard.readText()") as Promise<string>;
const choose = async (page: Page, item: string) => {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

describe("a run that waits", () => {
  test("says what for, takes messages into its prompt and lets go of them, and is cancelled by keyboard alone", async () => {
    const run = await world.create(["SAY: never said"]);
    const { page, complaints } = await world.visit(`/runs/${run}`);
    await page.getByText("No worker is connected").waitFor();
    await page.getByText("Joins the prompt").waitFor();
    await send(page, "SAY: also this");
    await queued(page).getByText("SAY: also this").waitFor();
    await queued(page).getByRole("button", { name: "Withdraw the message: SAY: also this" }).click();
    await queued(page).waitFor({ state: "detached" });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel", exact: true }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Cancel this run?" });
    await dialog.getByText("nothing is lost").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Cancel the run" }).focus();
    await page.keyboard.press("Enter");
    await state(page, "Cancelled").waitFor();
    expect((await world.get(run)).state).toBe("CANCELLED");
    expect(complaints).toEqual([]);
  });

  test("that is over is deleted, with a word of warning", async () => {
    const run = await world.create(["SAY: never said"]);
    await world.call("POST", `/agent/runs/${run}/cancel`);
    const { page, complaints } = await world.visit(`/runs/${run}`);
    await choose(page, "Delete");
    await page.getByRole("dialog").getByText("There is no way back").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Delete for good" }).click();
    await page.waitForURL("**/runs");
    expect((await world.call("GET", `/agent/runs/${run}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });
});

describe("with a worker", () => {
  beforeAll(async () => {
    await world.worker();
  });

  test("a run is watched while it works, and steered in each mode", async () => {
    const { command, mark } = longSleep();
    const run = await world.create(["SAY: I begin.", `RUN: ${command}`, "SAY: I end."]);
    const { page, complaints } = await world.visit(`/runs/${run}`);
    await state(page, "Working").waitFor();
    await page.getByText("I begin.", { exact: true }).waitFor();
    await asleep(mark);
    await page.getByText("Seen before the agent's next step.").waitFor();
    await send(page, "SAY: as first written");
    await queued(page).getByRole("button", { name: "Edit the message: SAY: as first written" }).click();
    await page.getByRole("textbox", { name: "The queued message" }).fill("SAY: as changed");
    await page.getByRole("button", { name: "Save" }).click();
    await queued(page).getByText("SAY: as changed").waitFor();
    await send(page, "SAY: when all is done", "When done");
    await queued(page).getByText("SAY: when all is done").waitFor();
    await send(page, "SAY: taken back", "When done");
    await queued(page).getByRole("button", { name: "Withdraw the message: SAY: taken back" }).click();
    await queued(page).getByText("SAY: taken back").waitFor({ state: "detached" });
    await expectAccessible(page);
    await send(page, "SAY: at once", "Interrupt");
    await state(page, "Succeeded").waitFor();
    await queued(page).waitFor({ state: "detached" });
    const events = await world.events(run);
    const messages = events.filter(({ type }) => type === "message.user").map(({ data }) => data.text);
    expect(messages.sort()).toEqual(["SAY: as changed", "SAY: at once", "SAY: when all is done"]);
    await page.getByText("Starts a new turn").waitFor();
    await send(page, "SAY: and a second turn");
    await page
      .getByText(/and a second turn/)
      .first()
      .waitFor();
    await vi.waitUntil(async () => (await world.get(run)).turns === 2, { timeout: 10_000 });
    await state(page, "Succeeded").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a question is answered in the composer, with a file, and what was typed outlives a reload", async () => {
    const run = await world.create(["ASK: Which colour?"]);
    const { page, complaints } = await world.visit(`/runs/${run}`);
    await page.getByRole("region", { name: "The agent asks" }).getByText("Which colour?").waitFor();
    const form = page.getByRole("form", { name: "Answer the question" });
    const box = form.getByRole("textbox", { name: "Your answer" });
    await expectAccessible(page);
    await box.fill("RUN: cat");
    await page.reload();
    expect(await box.inputValue()).toBe("RUN: cat");
    const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from("blue") });
    const names = ["colour.txt", "2.txt", "3.txt", "4.txt", "5.txt", "6.txt"];
    await form.getByLabel("Files to attach").setInputFiles(names.map(file));
    await form.getByRole("alert").getByText("At most 5 files").waitFor();
    for (const name of names.slice(1)) await form.getByRole("button", { name: `Remove ${name}` }).click();
    await box.fill("SAY: blue");
    await form.getByRole("button", { name: "Answer" }).click();
    await state(page, "Succeeded").waitFor();
    const events = await world.events(run);
    const sent = events.find(({ type }) => type === "message.user");
    expect(sent?.data.attachments).toMatchObject([{ file_name: "colour.txt", size_bytes: 4 }]);
    expect(await message(page).inputValue()).toBe("");
    expect(complaints).toEqual([]);
  });

  test("a run at work is cancelled at once", async () => {
    const { command, mark } = longSleep();
    const run = await world.create([`RUN: ${command}`]);
    const { page, complaints } = await world.visit(`/runs/${run}`, { size: "phone", theme: "dark" });
    await asleep(mark);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByText("in the middle of what it does").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel the run" }).click();
    await state(page, "Cancelled").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a failed run says why and what to do, and is run again with changes", async () => {
    const run = await world.create(["FAIL: The cable is out."], { title: "Plug it in" });
    await world.until(run, "FAILED");
    const { page, complaints } = await world.visit(`/runs/${run}`);
    const card = page.getByRole("region", { name: "The run failed" });
    await card.getByText("The cable is out.").waitFor();
    await card.getByText("start the run again").waitFor();
    await card.getByRole("button", { name: "Run again" }).click();
    const dialog = page.getByRole("dialog", { name: "Re-run with changes" });
    const prompt = dialog.getByRole("textbox", { name: "What should the agent do?" });
    expect(await prompt.inputValue()).toBe("FAIL: The cable is out.");
    await expectAccessible(page);
    await prompt.fill("SAY: It is in again.");
    await dialog.getByRole("button", { name: "Start run" }).click();
    await page.waitForURL((url) => /^\/runs\/[0-9a-f-]+$/.test(url.pathname) && !url.pathname.endsWith(run));
    await page.getByText("It is in again.", { exact: true }).waitFor();
    await page.getByRole("heading", { level: 1, name: "Plug it in" }).waitFor();
    await state(page, "Succeeded").waitFor();
    expect(complaints).toEqual([]);
  });

  test("a run that used up its limit goes on with a higher one", async () => {
    const run = await world.create(["RUN: true", "RUN: true", "SAY: all done"], { limits: { max_steps: 1 } });
    const { page, complaints } = await world.visit(`/runs/${run}`);
    await page.getByRole("region", { name: "The run failed" }).getByText("higher limit").waitFor();
    await page.getByRole("spinbutton", { name: "Steps" }).fill("20");
    await send(page, "SAY: go on");
    await state(page, "Succeeded").waitFor();
    expect((await world.get(run)).limits).toEqual({ max_steps: 20 });
    expect(complaints).toEqual([]);
  });

  test("what a run has left is on its tabs, each with an address of its own", async () => {
    const run = await world.create([
      "WRITE: src/colour.ts | export const colour = 'red';\\n",
      "WRITE: notes.md | # Notes\\n<script>alert(1)</script>\\n",
      "RUN: exit 3",
      "SAY: done",
    ]);
    await world.until(run, "SUCCEEDED");
    const { page, complaints } = await world.visit(`/runs/${run}`);
    const tab = async (name: string) => {
      await page.getByRole("navigation", { name: "Parts of the run" }).getByRole("link", { name }).click();
      await page.waitForURL(`**?tab=${name.toLowerCase()}`);
      const current = page.getByRole("navigation", { name: "Parts of the run" }).locator("[aria-current]");
      expect(await current.count()).toBe(1);
    };

    await tab("Changes");
    await page.getByText("2 files changed").waitFor();
    await page
      .getByRole("region", { name: "Changes of src/colour.ts" })
      .getByText("colour")
      .first()
      .waitFor();
    await page.getByRole("button", { name: "One file at a time" }).click();
    await page
      .getByRole("navigation", { name: "Changed files" })
      .getByRole("button", { name: "notes.md" })
      .click();
    await page.getByText("<script>alert(1)</script>").waitFor();
    await page.getByRole("region", { name: "Changes of src/colour.ts" }).waitFor({ state: "detached" });
    const [patch] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download patch" }).click(),
    ]);
    expect(await readFile(await patch.path(), "utf8")).toBe(
      (await world.call("GET", `/agent/runs/${run}/diff`)).text,
    );
    await expectAccessible(page);

    await tab("Timeline");
    await page.getByRole("list", { name: "Commands" }).getByText("exit 3").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Show as table" }).click();
    await page.getByRole("row", { name: /exit 3, exit 3/ }).waitFor();

    await page.getByRole("button", { name: "Show as bars" }).click();
    await page.getByRole("list", { name: "Commands" }).getByRole("link", { name: "exit 3" }).click();
    await page.waitForURL(/\/runs\/[0-9a-f-]+#e-\d+$/);
    await page.getByText("exit 3").last().waitFor();

    await tab("Artifacts");
    await page
      .getByRole("button", { name: /^Preview/ })
      .first()
      .click();
    await page
      .getByRole("region", { name: /^Content of/ })
      .getByText("colour = 'red'")
      .waitFor();
    await expectAccessible(page);

    await tab("Usage");
    await page.getByRole("row", { name: /^Turn 1/ }).waitFor();
    await page.getByRole("img", { name: /^Input tokens: grew to/ }).waitFor();
    await expectAccessible(page);

    await tab("Receipt");
    await page.getByText("none: it could reach nothing outside.").waitFor();
    await page
      .getByText(/enforced by/)
      .first()
      .waitFor();
    await expectAccessible(page);

    await tab("Raw");
    await page.getByText(/so far, one JSON object each/).waitFor();
    await page.getByRole("button", { name: /^1 run\.created/ }).click();
    const [lines] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download ndjson" }).click(),
    ]);
    const events = (await readFile(await lines.path(), "utf8")).trim().split("\n");
    expect(events.map((line) => JSON.parse(line))).toEqual(await world.events(run));
    await expectAccessible(page);

    await page.reload();
    await page.getByRole("region", { name: "The run as JSON" }).getByText(run).waitFor();
    expect(complaints).toEqual([]);
  });

  test("a run is copied as words and as code that runs", async () => {
    const prompt = ['SAY: it\'s a "quoted" $HOME `word` \\ here'];
    const run = await world.create(prompt, { metadata: { team: "web" }, limits: { max_steps: 5 } });
    await world.until(run, "SUCCEEDED");
    const { page, complaints } = await world.visit(`/runs/${run}`);
    const copied = async (item: string) => {
      await page.evaluate("navigator.clipboard.writeText('')");
      await choose(page, item);
      return vi.waitUntil(() => clipboard(page), { timeout: 5_000 });
    };
    expect(await copied("Copy link")).toBe(`${world.origin}/runs/${run}`);
    expect(await copied("Copy run id")).toBe(run);
    expect(await copied("Copy as Markdown")).toBe(
      (await world.call("GET", `/agent/runs/${run}/transcript`)).text,
    );
    const env = { ...process.env, OUTRIDER_API_KEY: world.key };
    const same = { prompt: prompt[0], metadata: { team: "web" }, limits: { max_steps: 5 } };
    const curl = await copied("Copy as curl");
    const { run_id } = JSON.parse((await execute("bash", ["-c", curl], { env })).stdout);
    expect(await world.get(run_id)).toMatchObject(same);
    const typescript = await copied("Copy as TypeScript");
    const args = ["--input-type=module-typescript", "-e", typescript];
    expect((await execute(process.execPath, args, { env, cwd: root })).stdout).toMatch(/^SUCCEEDED http/);
    const python = await copied("Copy as Python");
    const withClient = { env: { ...env, PYTHONPATH: `${root}sdks/python/src` } };
    const { stdout } = await execute(`${root}.tools/python/bin/python`, ["-c", python], withClient);
    expect(stdout).toMatch(/^SUCCEEDED http/);
    for (const code of [curl, typescript, python]) expect(code).not.toContain(world.key);
    expect(complaints).toEqual([]);
  });
});

test("a run that is not there is said to be not there", async () => {
  const { page, complaints } = await world.visit("/runs/01890000-0000-7000-8000-000000000000");
  await page.getByRole("heading", { name: "There is no such run" }).waitFor();
  await expectAccessible(page);
  expect(complaints.filter((text) => !text.includes("404"))).toEqual([]);
});

test("a run that is deleted while somebody reads it is said to be deleted", async () => {
  const run = await world.create(["SAY: soon gone"]);
  await world.until(run, "SUCCEEDED");
  const { page } = await world.visit(`/runs/${run}`);
  await page.getByText("soon gone", { exact: true }).waitFor();
  await world.call("DELETE", `/agent/runs/${run}`);
  await page.getByRole("heading", { name: "This run was deleted" }).waitFor();
});

test("who may not steer a run is told why, and reads it", async () => {
  const run = await world.create(["SAY: not yours"]);
  const key = await addPerson(world.db, {
    email: "reader@example.com",
    display_name: "Reader",
    role: "member",
  });
  const { page, context } = await world.visit("/favicon.svg", { signedIn: false });
  await context.route("**/api/**", (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
  );
  await page.goto(`/runs/${run}`);
  await page.getByText(/This run belongs to .* may steer it/).waitFor();
  expect(await message(page).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Cancel", exact: true }).count()).toBe(0);
});
