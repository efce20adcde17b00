import type { NewEvent } from "@outrider/contract/event";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../scripts/tests/wait-options.ts";
import { chooseOption } from "./support/choose-option.ts";
import { copied } from "./support/clipboard.ts";
import { everyEvent } from "./support/every-event.ts";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";
import { finish, write } from "./support/write-events.ts";

let app: WebApp;
let run: string;

beforeAll(async () => {
  app = await startWebApp();
  run = await app.create(["Find out why the suite fails."], { title: "A flaky suite" });
  await write(app, run, everyEvent);
  await finish(app, run);
});
afterAll(() => app?.stop());

const block = (page: Page, name: string | RegExp) => page.getByRole("article", { name });
const transcript = (page: Page) => page.getByRole("region", { name: "Transcript" });
const toTop = (page: Page) => transcript(page).evaluate((element) => element.scrollTo(0, 0));
const say = (text: string): NewEvent => ({ type: "message.agent", data: { text } });

/** Waits for the end of the transcript, then scrolls to its start. */
async function open(page: Page) {
  await block(page, "Succeeded").waitFor();
  await toTop(page);
  await block(page, "Prompt").waitFor();
}

describe("transcript", () => {
  test("shows the prompt, reasoning, plan and messages as Markdown", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await open(page);
    await page.getByText("Find out why the suite fails.").waitFor();
    await block(page, /Environment: Check out/).waitFor();
    await block(page, "Environment: pg_ctl start").getByText("server started").waitFor();
    const thought = block(page, "Reasoning");
    expect(await thought.locator("strong").count()).toBe(0);
    await thought.getByRole("button", { name: /Reasoning/ }).click();
    await thought.locator("strong", { hasText: "now and then" }).waitFor();
    const message = block(page, "Agent message");
    await message.getByRole("cell", { name: "expired" }).waitFor();
    const link = message.getByRole("link", { name: "the report" });
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    expect(await link.getAttribute("target")).toBe("_blank");
    await message.getByRole("button", { name: "Copy code" }).click();
    expect(await copied(page)).toBe("const now: number = Date.now();");
    const plan = page.getByRole("complementary", { name: "Plan" });
    await plan.getByText("Run it fifty times").waitFor();
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("expands failed commands with colors, and shows the last lines of others", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await open(page);
    const failed = block(page, "Command: pnpm vitest run");
    await failed.getByText("exit 1").waitFor();
    await failed.getByText("4.1 s").waitFor();
    expect(await failed.getByText("❯ session.test.ts (8 tests | 1 failed)").getAttribute("class")).toBe(
      "text-bad",
    );
    const printed = await failed.getByRole("region", { name: "Output" }).innerText();
    expect(printed).toContain("100 %");
    expect(printed).not.toContain("50 %");
    const good = block(page, /Command: git log/);
    await good.getByText("exit 0").waitFor();
    await good.getByText("e5 five").waitFor();
    expect(await good.getByText("a1 one").count()).toBe(0);
    await good.getByRole("button", { expanded: false }).click();
    await good.getByText("a1 one").waitFor();
    await good.getByRole("button", { name: "Copy output" }).click();
    expect(await copied(page)).toMatch(/^a1 one\n/);
    expect(consoleErrors).toEqual([]);
  });

  test("shows highlighted changes, tool calls and notices on a phone in the dark theme", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`, { theme: "dark", size: "phone" });
    await block(page, "Succeeded").waitFor();
    for (const name of ["Notice", "Artifact", "Conversation compacted", "Tool: tracker_close"]) {
      await block(page, name).waitFor();
    }
    await block(page, "Tool: tracker_close").getByText("Not allowed: closed by somebody else.").waitFor();
    // Its effect has its own block.
    expect(await block(page, "Tool: edit_file").count()).toBe(0);
    await expectAccessible(page);
    await block(page, /File modified: src\/auth.ts/).scrollIntoViewIfNeeded();
    const change = block(page, /File modified: src\/auth.ts/);
    await change.getByText("// Clocks of workers differ by up to five seconds.").waitFor();
    await change.getByText("+2").waitFor();
    await change.locator("span[style*=syntax]").first().waitFor();
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBe(390);
    expect(consoleErrors).toEqual([]);
  });
});

describe("navigation", () => {
  test("filters blocks and jumps between failures by keyboard", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await open(page);
    await page.getByRole("button", { name: "Tools" }).click();
    await block(page, "Tool: edit_file").waitFor();
    expect(await page.getByRole("article").count()).toBe(3);
    await page.getByRole("button", { name: /^Failed/ }).click();
    await vi.waitFor(async () => expect(await page.getByRole("article").count()).toBe(2), waitOptions);
    // The visible block stays in place when the filter is removed.
    await page.getByRole("button", { name: "All", exact: true }).click();
    await vi.waitFor(async () => expect(await topOf(page, /pnpm vitest/)).toBeLessThan(60), waitOptions);
    await page.keyboard.press("]");
    await vi.waitFor(
      async () => expect(await topOf(page, "Tool: tracker_close")).toBeLessThan(500),
      waitOptions,
    );
    await page.keyboard.press("[");
    await vi.waitFor(async () => expect(await topOf(page, /pnpm vitest/)).toBeLessThan(60), waitOptions);
    expect(consoleErrors).toEqual([]);
  });

  test("searches the whole log and jumps between matches", async () => {
    const long = await app.create(["Count."]);
    const steps = Array.from({ length: 2_500 }, (_, n) =>
      say(n % 1_000 === 7 ? `A needle: ${n}` : `Step ${n}`),
    );
    await write(app, long, steps);
    await finish(app, long);
    const { page, consoleErrors } = await app.visit(`/runs/${long}`);
    await block(page, "Succeeded").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("NEEDLE");
    const search = page.getByRole("search");
    await search.getByText("3", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await search.getByText("1 of 3").waitFor();
    await page.getByText("A needle: 7").waitFor();
    await page.keyboard.press("Shift+Enter");
    await search.getByText("3 of 3").waitFor();
    await page.getByText("A needle: 2007").waitFor();
    expect(await page.evaluate(`CSS.highlights.get("transcript-search")?.size`)).toBe(1);
    await page.keyboard.press("Escape");
    expect(await page.evaluate(`CSS.highlights.has("transcript-search")`)).toBe(false);
    expect(consoleErrors).toEqual([]);
  });

  test("expands and collapses all blocks and moves between them by keyboard", async () => {
    const { page, consoleErrors } = await app.visit(`/runs/${run}`);
    await open(page);
    const closed = page.locator("article button[aria-expanded=false]");
    const opened = page.locator("article button[aria-expanded=true]");
    await closed.first().waitFor();
    await page.keyboard.press("e");
    await vi.waitFor(async () => expect(await closed.count()).toBe(0), waitOptions);
    await page.getByRole("button", { name: "Collapse all" }).click();
    await vi.waitFor(async () => expect(await opened.count()).toBe(0), waitOptions);
    await toTop(page);
    await transcript(page).focus();
    const focused = () =>
      page.evaluate(`document.activeElement.closest("article")?.getAttribute("aria-label")`);
    await page.keyboard.press("j");
    await vi.waitFor(async () => expect(await focused()).toBe("Prompt"), waitOptions);
    const command = block(page, "Command: pnpm vitest run").getByRole("button", { expanded: false });
    await vi.waitFor(async () => {
      await page.keyboard.press("j");
      await vi.waitFor(async () => expect(await focused()).toBe("Command: pnpm vitest run"), {
        timeout: 500,
      });
    }, waitOptions);
    await page.keyboard.press("Enter");
    await command.waitFor({ state: "detached" });
    await page.keyboard.press("k");
    await vi.waitFor(async () => expect(await focused()).not.toBe("Command: pnpm vitest run"), waitOptions);
    await page.keyboard.press("m");
    await page.keyboard.type("typed");
    expect(await page.getByRole("textbox", { name: "Message to the agent" }).inputValue()).toBe("typed");
    expect(consoleErrors).toEqual([]);
  });

  test("shows times since the start, line numbers and links in output", async () => {
    const timed = await app.create(["Look at the time."]);
    const url = "https://example.com/report?id=1";
    await write(app, timed, [
      { type: "run.claimed", data: { worker: "w" } },
      { type: "command.started", data: { command_id: "c1", command: "make" } },
      {
        type: "command.output",
        data: { command_id: "c1", stream: "stdout", text: `one\nSee (${url}).\njavascript:alert(1)\n` },
      },
      { type: "command.finished", data: { command_id: "c1", exit_code: 1, duration_ms: 50 } },
    ]);
    await finish(app, timed);
    await app.db`
      update events set created_at = created_at - interval '65 seconds'
      where run_id = ${timed} and type in ('run.created', 'run.claimed')`;
    const { page, consoleErrors } = await app.visit(`/runs/${timed}`);
    const command = block(page, "Command: make");
    await command.getByText(/^\+1:0\d$/).waitFor();
    const link = command.getByRole("link", { name: url });
    expect(await link.getAttribute("href")).toBe(url);
    expect(await link.getAttribute("rel")).toBe("noopener noreferrer");
    const output = command.getByRole("region", { name: "Output" });
    expect(await output.getByRole("link").count()).toBe(1);
    const numbers = await page.evaluate(
      `[...document.querySelectorAll("[data-line]")].map((line) => getComputedStyle(line, "::before").content)`,
    );
    expect(numbers).toEqual(['"1"', '"2"', '"3"']);
    // The numbers are not part of the text that is copied.
    await command.getByRole("button", { name: "Copy output" }).click();
    expect(await copied(page)).toBe(`one\nSee (${url}).\njavascript:alert(1)`);
    await expectAccessible(page);
    expect(consoleErrors).toEqual([]);
  });

  test("scrolls to each match inside long messages and output", async () => {
    const long = await app.create(["Write a lot."]);
    const filler = Array.from({ length: 200 }, (_, n) => `Paragraph ${n} of a long message.`).join("\n\n");
    const lines = Array.from({ length: 900 }, (_, n) => (n === 300 ? "a needle in line 300" : `line ${n}`));
    await write(app, long, [
      say(`${filler}\n\nneedle one\n\n${filler}\n\nneedle two\n\n${filler}`),
      { type: "command.started", data: { command_id: "c1", command: "make" } },
      { type: "command.output", data: { command_id: "c1", stream: "stdout", text: lines.join("\n") } },
      { type: "command.finished", data: { command_id: "c1", exit_code: 0, duration_ms: 5 } },
    ]);
    await finish(app, long);
    const { page, consoleErrors } = await app.visit(`/runs/${long}`);
    await block(page, "Succeeded").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.getByRole("search").getByText("3", { exact: true }).waitFor();
    for (const text of ["needle one", "needle two", "a needle in line 300"]) {
      await page.keyboard.press("Enter");
      await vi.waitFor(async () => {
        const found = await page.evaluate(currentMatch);
        expect(found).toMatchObject({ text, isVisible: true });
      }, waitOptions);
    }
    expect(consoleErrors).toEqual([]);
  });

  test("steps through each match of one output line, also across colors", async () => {
    const colored = await app.create(["Print."]);
    const text = "first line\nneedle=1 \x1b[31mneed\x1b[0mle=2 needle=3\nlast line\n";
    await write(app, colored, [
      { type: "command.started", data: { command_id: "c1", command: "make" } },
      { type: "command.output", data: { command_id: "c1", stream: "stdout", text } },
      { type: "command.finished", data: { command_id: "c1", exit_code: 0, duration_ms: 5 } },
    ]);
    await finish(app, colored);
    const { page, consoleErrors } = await app.visit(`/runs/${colored}`);
    await block(page, "Succeeded").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await page.getByRole("search").getByText("3", { exact: true }).waitFor();
    const places = async (name: string) => (await page.evaluate(placesOf(name))) as number[];
    await vi.waitFor(async () => expect(await places("transcript-search")).toEqual([0, 9, 18]), waitOptions);
    for (const [key, place] of [
      ["Enter", 0],
      ["Enter", 9],
      ["Enter", 18],
      ["Shift+Enter", 9],
    ] as const) {
      await page.keyboard.press(key);
      await vi.waitFor(async () => expect(await places("transcript-match")).toEqual([place]), waitOptions);
    }
    expect(consoleErrors).toEqual([]);
  });

  test("opens and copies links to events, also inside a block", async () => {
    const events = await app.events(run);
    const output = events.find(({ type, data }) => type === "command.output" && data.command_id === "c2");
    const { page, consoleErrors } = await app.visit(`/runs/${run}#e-${output?.seq}`);
    // The link expands the block and highlights the line.
    await block(page, /Command: git log/)
      .getByText("a1 one")
      .waitFor();
    await page.locator(".bg-accent-soft", { hasText: "a1 one" }).first().waitFor();
    const notice = events.find(({ type }) => type === "notice");
    await block(page, "Notice")
      .getByRole("link", { name: /Copy link/ })
      .click();
    const address = `${app.origin}/runs/${run}#e-${notice?.seq}`;
    expect(await copied(page)).toBe(address);
    await vi.waitFor(() => expect(page.url()).toBe(address), waitOptions);
    expect(consoleErrors).toEqual([]);
  });

  test("follows new events until the user scrolls up", async () => {
    const live = await app.create(["Go on and on."]);
    await write(
      app,
      live,
      Array.from({ length: 60 }, (_, n) => say(`Step ${n}`)),
    );
    const { page, consoleErrors } = await app.visit(`/runs/${live}`);
    await page.getByText("Step 59").waitFor();
    await write(app, live, [say("Step 60"), say("Step 61")]);
    await page.getByText("Step 61").waitFor();
    await vi.waitFor(async () => expect(await fromEnd(page)).toBeLessThan(2), waitOptions);
    await transcript(page).hover();
    await page.mouse.wheel(0, -900);
    await page.getByRole("button", { name: "Jump to latest" }).waitFor();
    const before = await topArticle(page);
    await write(app, live, [say("Step 62"), say("Step 63"), say("Step 64")]);
    await page.getByRole("button", { name: "3 new · jump to latest" }).waitFor();
    expect(await topArticle(page)).toEqual(before);
    await page.getByRole("button", { name: /jump to latest/ }).click();
    await page.getByText("Step 64").waitFor();
    await vi.waitFor(async () => expect(await fromEnd(page)).toBeLessThan(2), waitOptions);
    expect(consoleErrors).toEqual([]);
  });

  test("has the state of the log in the header before the run is fetched again", async () => {
    const live = await app.create(["Go."]);
    const { page } = await app.visit(`/runs/${live}`);
    const state = page.getByRole("status").filter({ hasText: /^(Queued|Succeeded)$/ });
    await state.getByText("Queued").waitFor();
    await block(page, "Prompt").waitFor();
    // Requests for the run are never answered.
    await page.route(`**/api/v1/agent/runs/${live}`, () => {});
    await finish(app, live);
    await block(page, "Succeeded").waitFor();
    await state.getByText("Succeeded").waitFor();
  });

  test("shows the same gaps between blocks live as after a reload", async () => {
    const live = await app.create(["Show the gaps."]);
    const { page, consoleErrors } = await app.visit(`/runs/${live}`);
    await block(page, "Prompt").waitFor();
    const start: NewEvent = { type: "command.started", data: { command_id: "c1", command: "make" } };
    const text = "one\ntwo\nthree\nfour\n";
    await write(app, live, [
      start,
      { type: "command.output", data: { command_id: "c1", stream: "stdout", text } },
    ]);
    await block(page, "Command: make").getByText("one").waitFor();
    await write(app, live, [
      { type: "command.finished", data: { command_id: "c1", exit_code: 1, duration_ms: 50 } },
    ]);
    await block(page, "Command: make").getByText("exit 1").waitFor();
    await write(app, live, [say("It failed.")]);
    await block(page, "Agent message").waitFor();
    await vi.waitFor(async () => expect(await gaps(page)).toEqual([8, 8]), waitOptions);
    await finish(app, live);
    await block(page, "Succeeded").waitFor();
    await vi.waitFor(async () => expect(await gaps(page)).toEqual([8, 8, 8]), waitOptions);
    await page.reload();
    await block(page, "Succeeded").waitFor();
    await vi.waitFor(async () => expect(await gaps(page)).toEqual([8, 8, 8]), waitOptions);
    expect(consoleErrors).toEqual([]);
  });

  test("shows every event once when the server restarts", async () => {
    const live = await app.create(["Go on."]);
    await write(app, live, [say("Before")]);
    const { page } = await app.visit(`/runs/${live}`);
    await page.getByText("Before", { exact: true }).waitFor();
    await app.restart();
    await write(app, live, [say("Meanwhile"), say("Behind it")]);
    await finish(app, live, "Behind it");
    await block(page, "Succeeded").waitFor({ timeout: waitOptions.timeout });
    for (const text of ["Before", "Meanwhile", "Behind it"]) {
      expect(await page.getByText(text, { exact: true }).count()).toBe(1);
    }
  });
});

describe("active run", () => {
  test("shows commands, changes and questions live, and continues with the answer", async () => {
    await app.worker();
    const real = await app.create([
      "SAY: I begin.",
      "RUN: echo out; echo err >&2; exit 3",
      "WRITE: notes.md | # Notes",
      "ASK: Which colour?",
    ]);
    const { page, consoleErrors } = await app.visit(`/runs/${real}`);
    const question = block(page, "Agent question");
    await question.getByText("Which colour?").waitFor({ timeout: waitOptions.timeout });
    await block(page, /Command: echo out/)
      .getByText("exit 3", { exact: true })
      .waitFor();
    await block(page, "File created: notes.md").getByText("# Notes").waitFor();
    await page.getByRole("textbox", { name: "Your answer" }).fill("SAY: It is green.");
    await expectAccessible(page);
    await page.getByRole("button", { name: "Answer" }).click();
    await block(page, "Succeeded").waitFor({ timeout: waitOptions.timeout });
    await block(page, "Follow-up").getByText("SAY: It is green.").waitFor();
    await block(page, "Agent message").getByText("It is green.").waitFor();
    expect(await page.getByRole("textbox", { name: "Your answer" }).count()).toBe(0);
    await chooseOption(page.getByRole("combobox", { name: "Turn" }), "Turn 1");
    await vi.waitFor(async () => expect(await block(page, "Follow-up").count()).toBe(0), waitOptions);
    expect(consoleErrors).toEqual([]);
  });

  test("streams the output of a running command", async () => {
    const real = await app.create(["RUN: echo first; until [ -e stop ]; do sleep 0.1; done"]);
    const { page, consoleErrors } = await app.visit(`/runs/${real}`);
    const command = block(page, /Command: echo first/);
    await command.getByText("first", { exact: true }).waitFor({ timeout: waitOptions.timeout });
    await command.getByText("running").waitFor();
    await app.call("POST", `/agent/runs/${real}/cancel`);
    await block(page, "Cancelled").waitFor();
    expect(consoleErrors).toEqual([]);
  });
});

async function topOf(page: Page, name: string | RegExp): Promise<number> {
  const [box, frame] = await Promise.all([block(page, name).boundingBox(), transcript(page).boundingBox()]);
  return (box?.y ?? Infinity) - (frame?.y ?? 0);
}

/** Finds the highlighted match, and whether it is inside the visible part of the transcript. */
const currentMatch = `(() => {
  const [range] = CSS.highlights.get("transcript-match") ?? [];
  if (!range) return undefined;
  const frame = document.querySelector("section[aria-label=Transcript]").getBoundingClientRect();
  const { top, bottom } = range.getBoundingClientRect();
  return { text: range.startContainer.nodeValue, isVisible: top >= frame.top && bottom <= frame.bottom };
})()`;

/** Finds where the highlighted texts start in their lines. */
const placesOf = (name: string) => `[...(CSS.highlights.get("${name}") ?? [])].map((range) => {
  const before = document.createRange();
  before.selectNodeContents(range.startContainer.parentElement.closest("[data-line]"));
  before.setEnd(range.startContainer, range.startOffset);
  return before.toString().length;
}).sort((a, b) => a - b)`;

/** Returns the distances between consecutive blocks. */
const gaps = (page: Page) =>
  transcript(page).evaluate((element) => {
    const boxes = [...element.querySelectorAll("article")]
      .map((article) => article.getBoundingClientRect())
      .sort((a, b) => a.top - b.top);
    return boxes.slice(1).map(({ top }, index) => Math.round(top - (boxes[index]?.bottom ?? 0)));
  });

const fromEnd = (page: Page) =>
  transcript(page).evaluate(
    ({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight,
  );

/** Returns the text and offset of the first visible block. */
const topArticle = (page: Page) =>
  transcript(page).evaluate((element) => {
    const edge = element.getBoundingClientRect().top;
    const first = [...element.querySelectorAll("article")]
      .map((article) => ({
        text: article.textContent,
        top: Math.round(article.getBoundingClientRect().top - edge),
      }))
      .filter(({ top }) => top >= 0)
      .sort((a, b) => a.top - b.top)[0];
    return first;
  });
