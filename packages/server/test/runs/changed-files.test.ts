import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { countFiles } from "../../src/engine/runs/changed-files.ts";

const patch = `diff --git a/one.ts b/one.ts
--- a/one.ts
+++ b/one.ts
@@ -1,1 +1,2 @@
 same
+diff --git a/fake b/fake
diff --git a/two.ts b/two.ts
deleted file mode 100644
`;

test.each([1, 5, 12, 13, 100, 10_000])("counts the files of a patch in chunks of %i bytes", async (size) => {
  const bytes = Buffer.from(patch);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  expect(await countFiles(Readable.from(chunks))).toBe(2);
});

test("counts no files in an empty patch", async () => {
  expect(await countFiles(Readable.from([]))).toBe(0);
});
