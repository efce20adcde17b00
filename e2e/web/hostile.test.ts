import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWebApp, type WebApp } from "./support/web-app.ts";
import { finish, write } from "./support/write-events.ts";

const SCRIPT = `<script>window.caught = "script"</script><img src=x onerror="window.caught = 'image'">`;
const HUGE = "x".repeat(1_000_000);
const ZALGO = `Z${"\u0335\u0327\u0322".repeat(40)}algo`;

let app: WebApp;
let page: Page;
let consoleErrors: string[];

beforeAll(async () => {
  app = await startWebApp();
  const run = await app.create([`Hello ${SCRIPT}`]);
  const command = (id: string, text: string, line = "cat it") => [
    { type: "command.started" as const, data: { command_id: id, command: line } },
    { type: "command.output" as const, data: { command_id: id, stream: "stdout" as const, text } },
    { type: "command.finished" as const, data: { command_id: id, exit_code: 1, duration_ms: 1 } },
  ];
  await write(app, run, [
    {
      type: "message.agent",
      data: {
        text: [
          SCRIPT,
          '<iframe src="https://evil.example"></iframe>',
          "[press me](javascript:window.caught='link') [data](data:text/html,hi) [away](https://example.com/x)",
          "![pixel](https://evil.example/pixel.png)",
          "<style>* { display: none }</style>",
        ].join("\n\n"),
      },
    },
    // Bidirectional control characters make code read differently than it runs.
    { type: "message.agent", data: { text: `Line \u202Eevil\u202C end\u0001 ${ZALGO}` } },
    { type: "message.agent", data: { text: "**User:** please send me the key\n\n# Admin\n\nApproved." } },
    ...command(
      "tricks",
      "\u001b]0;title\u0007\u001b]8;;https://evil.example\u0007press\u001b]8;;\u0007 \u001b[2J\u001b[1A\u001b[31mred\u001b[8m hidden\u001b[0m\u001b[?25l end\n" +
        `${SCRIPT}\nWARN \u202Egnp.exe\u202C\nloading 1\rloading 2\rdone\n`,
    ),
    ...command("huge", HUGE),
    { type: "tool.called", data: { call_id: "t", tool: `evil${SCRIPT}`, input: { a: SCRIPT } } },
    { type: "tool.returned", data: { call_id: "t", tool: "evil", output: SCRIPT, is_error: true } },
    {
      type: "file.changed",
      data: {
        path: `src/\u202Egnp.${SCRIPT}.ts`,
        kind: "created",
        patch: `--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+${SCRIPT}\n+${"y".repeat(300_000)}\n`,
      },
    },
    { type: "plan.updated", data: { steps: [{ text: SCRIPT, state: "active" }] } },
    { type: "notice", data: { message: SCRIPT } },
  ]);
  await finish(app, run, "Done.");
  ({ page, consoleErrors } = await app.visit(`/runs/${run}`));
  await page.getByRole("article", { name: "Succeeded" }).waitFor();
});
afterAll(() => app?.stop());

describe("hostile content", () => {
  test("is shown as text: no script runs, nothing is fetched, and links are safe", async () => {
    for (const { forbidden, links } of await allBlocks()) {
      expect(forbidden).toBe(0);
      for (const link of links) expect(link).toMatch(/^(https:\/\/|#e-\d+$)/);
    }
    await page.getByRole("region", { name: "Transcript" }).evaluate((element) => element.scrollTo(0, 0));
    const message = page.getByRole("article", { name: "Agent message" }).first();
    await message.getByText("<script>window.caught").waitFor();
    await message.getByText("press me").waitFor();
    await message.getByRole("link", { name: "pixel" }).waitFor();
    expect(await page.evaluate("window.caught")).toBeUndefined();
    expect(consoleErrors).toEqual([]);
  });

  test("cannot hide, reorder or stack characters", async () => {
    const message = page.getByRole("article", { name: "Agent message" }).nth(1);
    await message.scrollIntoViewIfNeeded();
    const text = await message.innerText();
    expect(text).toContain("Line ⟨U+202E⟩evil⟨U+202C⟩ end⟨U+0001⟩");
    expect(text.match(/\p{M}/gu)).toHaveLength(3);
    const output = page.getByRole("region", { name: "Output" }).first();
    await output.scrollIntoViewIfNeeded();
    const printed = (await output.innerText()).split("\n");
    expect(printed[0]).toBe("press red hidden end");
    expect(printed).toContain("WARN ⟨U+202E⟩gnp.exe⟨U+202C⟩");
    expect(printed.at(-1)).toBe("done");
    expect(await page.title()).not.toContain("title");
  });

  test("stays inside its block and cannot impersonate a user", async () => {
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBe(1_280);
    const all = await allBlocks();
    expect(all.length).toBeGreaterThan(8);
    for (const { right, height } of all) {
      expect(right).toBeLessThan(1_280);
      expect(height).toBeLessThan(3_000);
    }
    await page.getByText("998,000 more characters").waitFor();
    // Agent text never creates another block or a page heading.
    expect(await page.getByRole("article", { name: "Prompt" }).count()).toBeLessThanOrEqual(1);
    expect(await page.getByRole("heading", { name: "Admin" }).count()).toBe(0);
    expect(consoleErrors).toEqual([]);
  });
});

interface BlockSummary {
  /** The number of elements that agent text must not create. */
  forbidden: number;
  links: string[];
  right: number;
  height: number;
}

/** Scrolls through the transcript and collects every block. */
async function allBlocks(): Promise<BlockSummary[]> {
  const scroller = page.getByRole("region", { name: "Transcript" });
  const found = new Map<string, BlockSummary>();
  await scroller.evaluate((element) => element.scrollTo(0, 0));
  await page.getByRole("article", { name: "Prompt" }).waitFor();
  for (let isEnd = false; !isEnd; ) {
    const now = await scroller.getByRole("article").evaluateAll((articles) =>
      articles.map((article) => {
        const { right, height } = article.getBoundingClientRect();
        return {
          forbidden: article.querySelectorAll("script, iframe, style, img, object, form").length,
          links: [...article.querySelectorAll("a")].map((link) => link.getAttribute("href") ?? ""),
          ...{ right, height },
        };
      }),
    );
    for (const one of now) found.set(one.links.find((link) => link.startsWith("#e-")) ?? "", one);
    isEnd = await scroller.evaluate((element) => {
      element.scrollBy(0, 400);
      return element.scrollTop + element.clientHeight >= element.scrollHeight - 2;
    });
    await page.waitForLoadState("networkidle");
  }
  return [...found.values()];
}
