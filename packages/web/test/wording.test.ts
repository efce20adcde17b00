import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../src");

/** Words that are written with a capital letter inside a sentence. */
const names =
  /\b(GitHub|GitLab|Gitea|Forgejo|App|Outrider|MCP|CSV|NDJSON|JSON|ID|API|URL|Markdown|Enterprise)\b/g;

/** Returns all texts that a pattern captures, as "file: text". */
async function texts(pattern: RegExp): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob("**/*.{ts,tsx}", { cwd: root }))
    for (const [, text = ""] of readFileSync(join(root, file), "utf8").matchAll(pattern))
      found.push(`${file}: ${text}`);
  return found;
}

const textOf = (found: string) => found.slice(found.indexOf(": ") + 2);

test("titles and labels of buttons are in sentence case, without a period", async () => {
  const found = await texts(/\b(?:title|action|cancel)=(?:"|\{`|\{\w+ \? ")([A-Z][^"`]*)["`]/g);
  expect(found.length).toBeGreaterThan(60);
  const isWrong = (text: string) =>
    /[^.]\.$/.test(text) || / [A-Z][a-z]/.test(text.replaceAll(/\$\{[^}]*\}/g, "").replaceAll(names, ""));
  // A tooltip is a sentence.
  expect(found.filter((each) => isWrong(textOf(each)) && !each.endsWith("change your role."))).toEqual([]);
});

test("toasts that are one sentence have no period", async () => {
  const found = await texts(/showToast\([^"`]*["`]([^"`]+)["`]/g);
  expect(found.length).toBeGreaterThan(25);
  const isWrong = (text: string) => text.endsWith(".") !== /\. [A-Z]/.test(text);
  expect(found.filter((each) => isWrong(textOf(each)))).toEqual([]);
});

test("a run is re-run, and nothing else", async () => {
  expect(
    await texts(/((?:[Rr]e-run with changes|[Rr]un (?:it )?again|[Ss]tart (?:the run|it) again)[^a-zA-Z])/g),
  ).toEqual([]);
});
