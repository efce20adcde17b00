import { expect, test } from "vitest";
import { AttachmentPaths } from "../src/attachments.ts";

const assignAll = (...names: string[]) => {
  const paths = new AttachmentPaths();
  return names.map((name) => paths.assign(name).replace("~/attachments/", ""));
};

test("numbers attachments with the same name before the extension", () => {
  expect(assignAll("a.png", "b.png", "a.png", "a.png")).toEqual(["a.png", "b.png", "a-2.png", "a-3.png"]);
});

test("never assigns a name that is taken", () => {
  expect(assignAll("a-2.png", "a.png", "a.png")).toEqual(["a-2.png", "a.png", "a-3.png"]);
});

test("treats names that differ only in case as the same", () => {
  expect(assignAll("Notes.md", "notes.md")).toEqual(["Notes.md", "notes-2.md"]);
});

test("numbers names without an extension and dotfiles at the end", () => {
  expect(assignAll("Makefile", "Makefile", ".env", ".env")).toEqual([
    "Makefile",
    "Makefile-2",
    ".env",
    ".env-2",
  ]);
});

test("shortens names that are too long before the extension and keeps them unique", () => {
  const [first = "", second = ""] = assignAll(`${"ä".repeat(250)}.txt`, `${"ä".repeat(240)}.txt`);
  expect(Buffer.byteLength(first)).toBeLessThanOrEqual(255);
  expect(Buffer.byteLength(second)).toBeLessThanOrEqual(255);
  expect(first).toMatch(/^ä+\.txt$/);
  expect(second).toMatch(/^ä+-2\.txt$/);
});
