import { describe, expect, test } from "vitest";
import { type LineComment, messageOf, placeOf } from "../src/pages/session/changes/line-comments.ts";
import { type DiffLine, readPatch } from "../src/ui/diff/patch.ts";

const patch = `diff --git a/src/cart.ts b/src/cart.ts
--- a/src/cart.ts
+++ b/src/cart.ts
@@ -1,3 +1,3 @@
 const one = 1;
-const sum = one + two;
+const sum = add(one, two);
 export { sum };
`;

function lines(): DiffLine[] {
  return readPatch(patch)[0]?.hunks[0]?.lines ?? [];
}

function comment(line: DiffLine | undefined, text: string, path = "src/cart.ts"): LineComment {
  if (!line) throw new Error("The patch has no such line.");
  return { place: placeOf(path, line) ?? "", path, line, text };
}

describe("comments on lines", () => {
  test("name a line by its file, its side and its number", () => {
    const places = lines().map((line) => placeOf("src/cart.ts", line));
    expect(places).toEqual(["src/cart.ts:+1", "src/cart.ts:-2", "src/cart.ts:+2", "src/cart.ts:+3"]);
  });

  test("become one message that quotes file, line and code, in the order of the file", () => {
    const [, removed, added, last] = lines();
    const message = messageOf([
      comment(last, "Export it as default."),
      comment(removed, "Why was this wrong?"),
      comment(added, "  Use a loop.\nIt is clearer.  "),
    ]);
    expect(message).toBe(`Please address these 3 comments on your changes.

src/cart.ts, removed line 2:
> const sum = one + two;

Why was this wrong?

src/cart.ts, line 2:
> const sum = add(one, two);

Use a loop.
It is clearer.

src/cart.ts, line 3:
> export { sum };

Export it as default.`);
  });

  test("quote only the beginning of a very long line", () => {
    const line: DiffLine = { kind: "added", new: 7, text: "x".repeat(9_000) };
    expect(messageOf([comment(line, "Too long.")]).length).toBeLessThan(700);
  });
});
