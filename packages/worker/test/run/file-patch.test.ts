import { expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { createPatch } from "../../src/workspace/file-patch.ts";

test("a long patch is redacted before it is truncated", () => {
  const redactor = new Redactor(["open-sesame"]);
  for (let shift = 0; shift < 80; shift += 1) {
    const after = Buffer.from(`${"x".repeat(64 * 1024 - shift)}open-sesame${"y".repeat(1_000)}\n`);
    const patch = createPatch("a", { before: undefined, after, redactor });
    expect(patch).not.toContain("open");
    expect(patch).toMatch(/\n\[cut\]\n$/);
  }
});
