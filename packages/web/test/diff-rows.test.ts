import { expect, test } from "vitest";
import { countFiles } from "../src/ui/diff/count-files.ts";
import { type PatchFile, readPatch } from "../src/ui/diff/patch.ts";
import { rowsOf } from "../src/ui/diff/rows.ts";

const patch = `diff --git a/src/cart.ts b/src/cart.ts
--- a/src/cart.ts
+++ b/src/cart.ts
@@ -1,5 +1,4 @@
 const one = 1;
-const two = 2;
-const sum = one + two;
+const sum = add(one, 2);
 export { sum };
-last
\\ No newline at end of file
+diff --git a/fake b/fake
diff --git a/notes.md b/notes.md
deleted file mode 100644
`;

const file = readPatch(patch)[0] as PatchFile;

test("counts a patch's files without counting lines that look like headers", () => {
  expect(countFiles(patch)).toBe(2);
  expect(countFiles("")).toBe(0);
  expect(readPatch(patch)).toHaveLength(2);
});

test("places removed lines beside the added lines that replace them", () => {
  const rows = rowsOf(file, "split").map((row) =>
    row.kind === "pair" ? [row.left?.text, row.right?.text] : row.kind,
  );
  expect(rows).toEqual([
    "heading",
    ["const one = 1;", "const one = 1;"],
    ["const two = 2;", "const sum = add(one, 2);"],
    ["const sum = one + two;", undefined],
    ["export { sum };", "export { sum };"],
    ["last", "diff --git a/fake b/fake"],
    ["No newline at end of file", undefined],
  ]);
  expect(rowsOf(file, "unified")).toHaveLength(9);
});
