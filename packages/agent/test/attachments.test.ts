import { expect, test } from "vitest";
import { AttachmentPaths } from "../src/attachments.ts";

const placed = (...names: string[]) => {
  const paths = new AttachmentPaths();
  return names.map((name) => paths.place(name).replace("~/attachments/", ""));
};

test("attachments keep their names, and the second of a name gets a number before its extension", () => {
  expect(placed("a.png", "b.png", "a.png", "a.png")).toEqual(["a.png", "b.png", "a-2.png", "a-3.png"]);
});

test("a number never leads to a name that is taken", () => {
  expect(placed("a-2.png", "a.png", "a.png")).toEqual(["a-2.png", "a.png", "a-3.png"]);
});

test("names that differ in their case alone are told apart", () => {
  expect(placed("Notes.md", "notes.md")).toEqual(["Notes.md", "notes-2.md"]);
});

test("names without extension, and those that begin with a dot, are numbered at their end", () => {
  expect(placed("Makefile", "Makefile", ".env", ".env")).toEqual([
    "Makefile",
    "Makefile-2",
    ".env",
    ".env-2",
  ]);
});

test("a name that no file system takes is cut before its extension, and stays apart from others", () => {
  const [first = "", second = ""] = placed(`${"ä".repeat(250)}.txt`, `${"ä".repeat(240)}.txt`);
  expect(Buffer.byteLength(first)).toBeLessThanOrEqual(255);
  expect(Buffer.byteLength(second)).toBeLessThanOrEqual(255);
  expect(first).toMatch(/^ä+\.txt$/);
  expect(second).toMatch(/^ä+-2\.txt$/);
});
