import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../src");

/** Finds elements that the browser would render or validate in its own way, as "file: tag". */
async function elements(pattern: RegExp, isAllowed: (tag: string, file: string) => boolean) {
  const found: string[] = [];
  for await (const file of glob("**/*.tsx", { cwd: root }))
    for (const [tag] of readFileSync(join(root, file), "utf8").matchAll(pattern))
      if (!isAllowed(tag, file)) found.push(`${file}: ${tag}`);
  return found;
}

test("no form shows the browser's validation bubbles", async () => {
  // Forms use `useRequestForm`, whose attributes contain `noValidate`, or `Form`, or set it themselves.
  const isSafe = (tag: string) => /\{\.\.\.form\.attributes\}|\bnoValidate\b/.test(tag);
  expect(await elements(/<form\b[\s\S]*?(?<!=)>/g, isSafe)).toEqual([]);
});

test("no select is the browser's own", async () => {
  // The listbox has a hidden one, which forms read.
  expect(await elements(/<select\b/g, (_, file) => file === "ui/form/listbox.tsx")).toEqual([]);
});

test("no dialog is the browser's own", async () => {
  expect(await elements(/\b(?:window\.)?(?:alert|confirm|prompt)\(/g, () => false)).toEqual([]);
});
