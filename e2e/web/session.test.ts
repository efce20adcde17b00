import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { addUser } from "../../packages/server/src/engine/operations/bootstrap.ts";
import { longSleep, waitForSleep } from "../../packages/worker/test/installation.ts";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { expectAccessible, sizes, startWebApp, type WebApp } from "./support/web-app.ts";

const execute = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
});
afterAll(() => app?.stop());

const state = (page: Page, words: string) => page.getByRole("status").filter({ hasText: words }).first();
const message = (page: Page) => page.getByRole("textbox", { name: "Message to the agent" });
const queued = (page: Page) => page.getByRole("region", { name: "Undelivered messages" });
const send = async (page: Page, text: string, mode?: string) => {
  if (mode) await chooseOption(page.getByRole("combobox", { name: "Delivery" }), mode);
  await message(page).fill(text);
  await message(page).press("Control+Enter");
};
const clipboard = (page: Page) => page.evaluate("navigator.clipboard.readText()") as Promise<string>;
const choose = async (page: Page, item: string) => {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

describe("queued run", () => {
  test("shows why it is queued, accepts and withdraws messages, and is cancelled by keyboard", async () => {
    const run = await app.create(["SAY: never said"]);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await page.getByText("No worker is connected").waitFor();
    await page.getByText("Added to the prompt").waitFor();
    await send(page, "SAY: also this");
    await queued(page).getByText("SAY: also this").waitFor();
    await queued(page).getByRole("button", { name: "Withdraw message: SAY: also this" }).click();
    await queued(page).waitFor({ state: "detached" });
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel", exact: true }).focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Cancel this run?" });
    await dialog.getByText("nothing is lost").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Cancel run" }).focus();
    await page.keyboard.press("Enter");
    await state(page, "Cancelled").waitFor();
    expect((await app.get(run)).state).toBe("CANCELLED");
    expect(consoleErrors).toEqual([]);
  });

  test("is deleted after a warning once it is finished", async () => {
    const run = await app.create(["SAY: never said"]);
    await app.call("POST", `/agent/runs/${run}/cancel`);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await choose(page, "Delete");
    await page.getByRole("dialog").getByText("This cannot be undone").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
    await page.getByRole("button", { name: "Delete run" }).click();
    await page.waitForURL("**/runs");
    expect((await app.call("GET", `/agent/runs/${run}`)).status).toBe(404);
    expect(consoleErrors).toEqual([]);
  });
});

describe("with a worker", () => {
  beforeAll(async () => {
    await app.worker();
  });

  test("shows a run live and delivers messages in each mode", async () => {
    const { command, mark } = longSleep();
    const run = await app.create(["SAY: I begin.", `RUN: ${command}`, "SAY: I end."]);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await state(page, "Working").waitFor();
    await page.getByText("I begin.", { exact: true }).waitFor();
    await waitForSleep(mark);
    await page.getByText("Delivered before the agent's next step.").waitFor();
    await send(page, "SAY: as first written");
    await queued(page).getByRole("button", { name: "Edit message: SAY: as first written" }).click();
    await page.getByRole("textbox", { name: "Queued message" }).fill("SAY: as changed");
    await page.getByRole("button", { name: "Save" }).click();
    await queued(page).getByText("SAY: as changed").waitFor();
    await send(page, "SAY: when all is done", "When done");
    await queued(page).getByText("SAY: when all is done").waitFor();
    await send(page, "SAY: taken back", "When done");
    await queued(page).getByRole("button", { name: "Withdraw message: SAY: taken back" }).click();
    await queued(page).getByText("SAY: taken back").waitFor({ state: "detached" });
    await expectAccessible(page);
    await send(page, "SAY: at once", "Interrupt");
    await state(page, "Succeeded").waitFor();
    await queued(page).waitFor({ state: "detached" });
    const events = await app.events(run);
    const messages = events.filter(({ type }) => type === "message.user").map(({ data }) => data.text);
    expect(messages.sort()).toEqual(["SAY: as changed", "SAY: at once", "SAY: when all is done"]);
    await page.getByText("Starts a new turn").waitFor();
    await send(page, "SAY: and a second turn");
    await page
      .getByText(/and a second turn/)
      .first()
      .waitFor();
    await vi.waitUntil(async () => (await app.get(run)).turns === 2, waitOptions);
    await state(page, "Succeeded").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("answers a question with a file in the composer, and keeps the draft after a reload", async () => {
    const run = await app.create(["ASK: Which colour?"]);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await page.getByRole("article", { name: "Agent question" }).getByText("Which colour?").waitFor();
    const form = page.getByRole("form", { name: "Answer question" });
    await form.waitFor();
    // The transcript shows the question, and only the composer accepts an answer.
    const card = page.getByRole("region", { name: "The agent has a question" });
    expect(await card.count()).toBe(0);
    expect(await page.getByRole("textbox", { name: "Your answer" }).count()).toBe(1);
    await page.getByRole("link", { name: "Timeline" }).click();
    await card.getByText("Which colour?").waitFor();
    await page.getByRole("link", { name: "Transcript" }).click();
    const box = form.getByRole("textbox", { name: "Your answer" });
    await expectAccessible(page);
    await box.fill("RUN: cat");
    await page.reload();
    expect(await box.inputValue()).toBe("RUN: cat");
    const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from("blue") });
    const names = ["colour.txt", "2.txt", "3.txt", "4.txt", "5.txt", "6.txt"];
    await form.getByLabel("Files to attach").setInputFiles(names.map(file));
    await form.getByRole("alert").getByText("up to 5 files").waitFor();
    for (const name of names.slice(1)) await form.getByRole("button", { name: `Remove ${name}` }).click();
    await box.fill("SAY: blue");
    await form.getByRole("button", { name: "Answer" }).click();
    await state(page, "Succeeded").waitFor();
    const events = await app.events(run);
    const sent = events.find(({ type }) => type === "message.user");
    expect(sent?.data.attachments).toMatchObject([{ file_name: "colour.txt", size_bytes: 4 }]);
    expect(await message(page).inputValue()).toBe("");
    expect(consoleErrors).toEqual([]);
  });

  test("keeps the last lines visible while messages are queued", async () => {
    const { command, mark } = longSleep();
    const lines = Array.from({ length: 12 }, (_, n) => `SAY: Step ${n}`);
    const run = await app.create([...lines, `RUN: ${command}`]);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await waitForSleep(mark);
    const last = page.getByRole("article", { name: `Command: ${command}`.slice(0, 40) }).last();
    await last.waitFor();
    for (const text of ["SAY: one", "SAY: two", "SAY: three"]) {
      await send(page, text, "When done");
      await queued(page).getByText(text).waitFor();
    }
    await vi.waitFor(async () => {
      const [block, box] = await Promise.all([last.boundingBox(), queued(page).boundingBox()]);
      expect((block?.y ?? 0) + (block?.height ?? 0)).toBeLessThan(box?.y ?? 0);
    }, waitOptions);
    await app.call("POST", `/agent/runs/${run}/cancel`);
    expect(consoleErrors).toEqual([]);
  });

  test("shows the same duration of a waiting run on every page", async () => {
    const run = await app.create(["RUN: true", "ASK: Which colour?"], { title: "A run that waits" });
    await app.until(run, "BLOCKED");
    // The run waits for two hours after it has worked for 65 seconds.
    await app.db`update runs set started_at = started_at - interval '2 hours' where run_id = ${run}`;
    await app.db`update run_state set usage = jsonb_set(usage, '{run_seconds}', '65') where run_id = ${run}`;
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await page.getByText("1 min 5 s", { exact: true }).waitFor();
    await page.goto("/runs");
    await page
      .getByRole("row", { name: /A run that waits/ })
      .getByText("1 min 5 s")
      .waitFor();
    await page.goto("/");
    await page.getByText("1 min 5 s", { exact: true }).first().waitFor();
    await app.call("POST", `/agent/runs/${run}/cancel`);
    expect(consoleErrors).toEqual([]);
  });

  test("cancels an active run immediately", async () => {
    const { command, mark } = longSleep();
    const run = await app.create([`RUN: ${command}`]);
    const { page, consoleErrors } = await app.visit(`/runs/${run}`, { size: "phone", theme: "dark" });
    await waitForSleep(mark);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await page.getByRole("dialog").getByText("in the middle of its work").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Cancel run" }).click();
    await state(page, "Cancelled").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("explains why a run failed, and re-runs it with changes", async () => {
    const run = await app.create(["FAIL: The cable is out."], { title: "Plug it in" });
    await app.until(run, "FAILED");
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    const card = page.getByRole("region", { name: "Run failed" });
    await card.getByText("The cable is out.").waitFor();
    await card.getByText("fix the cause").waitFor();
    await card.getByRole("button", { name: "Re-run" }).click();
    const dialog = page.getByRole("dialog", { name: "Re-run" });
    const prompt = dialog.getByRole("textbox", { name: "What should the agent do?" });
    expect(await prompt.inputValue()).toBe("FAIL: The cable is out.");
    await expectAccessible(page);
    await prompt.fill("SAY: It is in again.");
    await dialog.getByRole("button", { name: "Re-run" }).click();
    await page.waitForURL((url) => /^\/runs\/[0-9a-f-]+$/.test(url.pathname) && !url.pathname.endsWith(run));
    await page.getByText("It is in again.", { exact: true }).waitFor();
    await page.getByRole("heading", { level: 1, name: "Plug it in" }).waitFor();
    await state(page, "Succeeded").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("leaves room for the transcript of a failed run and for its usage on a phone", async () => {
    const reason = "The cable is out, and nobody noticed it for the whole of the weekend. ".repeat(4);
    const run = await app.create(["RUN: true", `FAIL: ${reason}`], { title: "Plug it in and look again" });
    await app.until(run, "FAILED");
    const { page, consoleErrors } = await app.visit(`/runs/${run}`, { size: "phone" });
    await page.getByRole("article", { name: "Failed" }).waitFor();
    const frame = await page.getByRole("region", { name: "Transcript" }).boundingBox();
    expect(frame?.height).toBeGreaterThan(0.4 * sizes.phone.height);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("button", { name: "Details" }).click();
    await page.getByText("Model", { exact: true }).waitFor();
    await expectAccessible(page);
    await page.goto(`/runs/${run}?tab=usage`);
    const chart = page.getByRole("img", { name: /grew to/ });
    await chart.waitFor();
    await chooseOption(page.getByRole("combobox", { name: "Metric" }), "Working time");
    // The labels of the axis are outside of each other and inside of the page.
    const boxes = await page.locator("figure span").evaluateAll((labels) =>
      labels.map((label) => {
        const { left, right, top, bottom } = label.getBoundingClientRect();
        return { left, right, top, bottom };
      }),
    );
    type Box = (typeof boxes)[number];
    const isBefore = (a: Box, b: Box) => a.bottom <= b.top || a.right <= b.left;
    for (const [index, one] of boxes.entries()) {
      expect(one.left).toBeGreaterThanOrEqual(0);
      expect(one.right).toBeLessThanOrEqual(sizes.phone.width);
      expect(one.bottom - one.top).toBeLessThan(24);
      for (const other of boxes.slice(index + 1))
        expect(isBefore(one, other) || isBefore(other, one)).toBe(true);
    }
    expect(consoleErrors).toEqual([]);
  });

  test("continues a run that reached its limit with a higher limit", async () => {
    const run = await app.create(["RUN: true", "RUN: true", "SAY: all done"], { limits: { max_steps: 1 } });
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await page.getByRole("region", { name: "Run failed" }).getByText("higher limit").waitFor();
    const steps = page.getByRole("textbox", { name: "Steps" });
    await steps.fill("2.5");
    await page.getByText("Steps must be a whole number.").waitFor();
    await steps.fill("20");
    await send(page, "SAY: go on");
    await state(page, "Succeeded").waitFor();
    expect((await app.get(run)).limits).toEqual({ max_steps: 20 });
    expect(consoleErrors).toEqual([]);
  });

  test("shows the results of a run on tabs, each with its own URL", async () => {
    const run = await app.create([
      "WRITE: src/colour.ts | export const colour = 'red';\\n",
      "WRITE: notes.md | # Notes\\n<script>alert(1)</script>\\n",
      "RUN: exit 3",
      "SAY: done",
    ]);
    await app.until(run, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    const tab = async (name: string) => {
      await page.getByRole("navigation", { name: "Run sections" }).getByRole("link", { name }).click();
      await page.waitForURL(`**?tab=${name.toLowerCase()}`);
      const current = page.getByRole("navigation", { name: "Run sections" }).locator("[aria-current]");
      expect(await current.count()).toBe(1);
    };

    await tab("Changes");
    await page.getByText("2 files changed").waitFor();
    await page
      .getByRole("region", { name: "Changes in src/colour.ts" })
      .getByText("colour")
      .first()
      .waitFor();
    await page.getByRole("button", { name: "One file at a time" }).click();
    await page
      .getByRole("navigation", { name: "Changed files" })
      .getByRole("button", { name: "notes.md" })
      .click();
    await page.getByText("<script>alert(1)</script>").waitFor();
    await page.getByRole("region", { name: "Changes in src/colour.ts" }).waitFor({ state: "detached" });
    const [patch] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download patch" }).click(),
    ]);
    expect(await readFile(await patch.path(), "utf8")).toBe(
      (await app.call("GET", `/agent/runs/${run}/diff`)).text,
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
    await page.getByText("None: nothing outside the sandbox was reachable.").waitFor();
    await page
      .getByText(/enforced by/)
      .first()
      .waitFor();
    await expectAccessible(page);

    await tab("Raw");
    await page.getByText(/^\d+ events$/).waitFor();
    await page.getByRole("button", { name: /^1 run\.created/ }).click();
    const [lines] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download NDJSON" }).click(),
    ]);
    const events = (await readFile(await lines.path(), "utf8")).trim().split("\n");
    expect(events.map((line) => JSON.parse(line))).toEqual(await app.events(run));
    await expectAccessible(page);

    await page.reload();
    await page.getByRole("region", { name: "Run as JSON" }).getByText(run).waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("copies a run as text and as working code", async () => {
    const prompt = ['SAY: it\'s a "quoted" $HOME `word` \\ here'];
    const run = await app.create(prompt, { metadata: { team: "web" }, limits: { max_steps: 5 } });
    await app.until(run, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    const copied = async (item: string) => {
      await page.evaluate("navigator.clipboard.writeText('')");
      await choose(page, item);
      return vi.waitUntil(() => clipboard(page), waitOptions);
    };
    expect(await copied("Copy link")).toBe(`${app.origin}/runs/${run}`);
    expect(await copied("Copy run ID")).toBe(run);
    expect(await copied("Copy as Markdown")).toBe(
      (await app.call("GET", `/agent/runs/${run}/transcript`)).text,
    );
    const env = { ...process.env, OUTRIDER_API_KEY: app.key };
    const same = { prompt: prompt[0], metadata: { team: "web" }, limits: { max_steps: 5 } };
    const curl = await copied("Copy as curl");
    const { run_id } = JSON.parse((await execute("bash", ["-c", curl], { env })).stdout);
    expect(await app.get(run_id)).toMatchObject(same);
    const typescript = await copied("Copy as TypeScript");
    const args = ["--input-type=module-typescript", "-e", typescript];
    expect((await execute(process.execPath, args, { env, cwd: root })).stdout).toMatch(/^SUCCEEDED http/);
    const python = await copied("Copy as Python");
    const withClient = { env: { ...env, PYTHONPATH: `${root}sdks/python/src` } };
    const { stdout } = await execute(`${root}.tools/python/bin/python`, ["-c", python], withClient);
    expect(stdout).toMatch(/^SUCCEEDED http/);
    for (const code of [curl, typescript, python]) expect(code).not.toContain(app.key);
    expect(consoleErrors).toEqual([]);
  });
});

test("says that a run does not exist", async () => {
  const { page, consoleErrors } = await app.visit("/runs/01890000-0000-7000-8000-000000000000");
  await page.getByRole("heading", { name: "Run not found" }).waitFor();
  await expectAccessible(page);
  expect(consoleErrors.filter((text) => !text.includes("404"))).toEqual([]);
});

test("says that a run was deleted while it is open", async () => {
  const run = await app.create(["SAY: soon gone"]);
  await app.until(run, "SUCCEEDED");
  const { page } = await app.visit(`/runs/${run}`);
  await page.getByText("soon gone", { exact: true }).waitFor();
  await app.call("DELETE", `/agent/runs/${run}`);
  await page.getByRole("heading", { name: "This run was deleted" }).waitFor();
});

test("lets other members read a run and explains why they cannot control it", async () => {
  const run = await app.create(["SAY: not yours"]);
  const key = await addUser(app.db, {
    email: "reader@example.com",
    display_name: "Reader",
    role: "member",
  });
  const { page, context } = await app.visit("/favicon.svg", { signedIn: false });
  await context.route("**/api/**", (route) =>
    route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
  );
  await page.goto(`/runs/${run}`);
  await page.getByText(/This run belongs to .* can control it/).waitFor();
  expect(await message(page).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Cancel", exact: true }).count()).toBe(0);
});
