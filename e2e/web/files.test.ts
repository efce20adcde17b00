import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible, startWebApp, type WebApp } from "./support/web-app.ts";

/** The Files tab: the workspace of a run while it works and after it has ended. */

let app: WebApp;

beforeAll(async () => {
  app = await startWebApp();
  await app.worker();
});
afterAll(() => app?.stop());

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("the Files tab", () => {
  test("follows the files of a working run", async () => {
    const run = await app.create([
      "RUN: mkdir -p src; echo 'export const a = 1;' > src/first.ts; while [ ! -e src/stop ]; do sleep 0.2; done",
      "SAY: done",
    ]);
    await app.event(run, ({ type }) => type === "command.started");
    const { page, consoleErrors } = await app.visit(`/runs/${run}?tab=files`);
    const item = (name: RegExp) => page.getByRole("treeitem", { name });
    // The only folder is open.
    await item(/^first\.ts/).click();
    await page.getByRole("region", { name: "Content of first.ts" }).getByText("const").waitFor();
    await page.getByText("Current files in the sandbox").waitFor();
    // Another command of the same run changes the workspace.
    await app.call("POST", `/agent/runs/${run}/followups`, {
      body: {
        message: "RUN: echo 'const b = 2;' > src/second.ts; echo '// new' >> src/first.ts",
        mode: "interrupt",
      },
    });
    await item(/^second\.ts/).waitFor();
    await page.getByRole("region", { name: "Content of first.ts" }).getByText("// new").waitFor();
    expect(consoleErrors).toEqual([]);
  });

  test("shows text, images and binary files of a finished run, and downloads them", async () => {
    const run = await app.create(
      [
        `RUN: mkdir -p docs/deep; printf 'one\\ntwo\\n<script>alert(1)</script>\\n' > docs/deep/page.html; echo ${pixel} | base64 -d > dot.png; head -c 3000 /dev/zero > noise.bin; : > empty; ln -s /etc/passwd link; printf '# Title\\n' > README.md`,
        "SAY: done",
      ],
      { config: { idle_timeout_minutes: 0 } },
    );
    await app.until(run, "SUCCEEDED");
    const { page, consoleErrors } = await app.visit(`/runs/${run}?tab=files`);
    const item = (name: RegExp) => page.getByRole("treeitem", { name });
    await item(/^docs/).waitFor();
    await page.getByText("Files as they were stored last").waitFor();

    // By keyboard: open two folders and the file in them.
    await item(/^docs/).focus();
    await page.keyboard.press("ArrowRight");
    await item(/^deep/).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    await item(/^page\.html/).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const content = page.getByRole("region", { name: "Content of page.html" });
    await content.getByText("<script>alert(1)</script>").waitFor();
    expect(await content.locator("pre").first().textContent()).toBe("1\n2\n3");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe("page.html");
    expect(await readFile(await saved.path(), "utf8")).toBe("one\ntwo\n<script>alert(1)</script>\n");
    await expectAccessible(page);

    await item(/^dot\.png/).click();
    const image = page.getByRole("img", { name: "dot.png" });
    await image.waitFor();
    expect(
      await image.evaluate((node) => {
        const picture = node as unknown as { decode(): Promise<void>; naturalWidth: number };
        return picture.decode().then(() => picture.naturalWidth);
      }),
    ).toBe(1);
    await item(/^noise\.bin/).click();
    await page.getByText("This is a binary file.").waitFor();
    await item(/^empty/).click();
    await page.getByText("The file is empty.").waitFor();
    expect(await item(/^link link, which is not followed/).isEnabled()).toBe(false);
    await item(/^docs/).click();
    await item(/^deep/).waitFor({ state: "detached" });
    expect(consoleErrors).toEqual([]);
  });

  test("shows one pane at a time on a phone, and says when there are no files", async () => {
    const run = await app.create(["RUN: echo hello > notes.txt"]);
    const empty = await app.create(["SAY: hello"]);
    await app.until(run, "SUCCEEDED");
    await app.until(empty, "SUCCEEDED");
    const { page } = await app.visit(`/runs/${run}?tab=files`, { size: "phone", theme: "dark" });
    await page.getByRole("treeitem", { name: /^notes\.txt/ }).tap();
    await page.getByRole("region", { name: "Content of notes.txt" }).getByText("hello").waitFor();
    expect(await page.getByRole("treeitem").count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Back to the files" }).tap();
    await page.getByRole("treeitem", { name: /^notes\.txt/ }).waitFor();
    await page.goto(`/runs/${empty}?tab=files`);
    await page.getByRole("heading", { name: "No files" }).waitFor();
  });
});
