import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { BinaryPatchFilter } from "../../src/workspace/binary-patch-filter.ts";

const redactor = new Redactor(["open-sesame"]);
const [none, clean, dirty, gone] = ["0", "1", "2", "3"].map((digit) => digit.repeat(40)) as [
  string,
  string,
  string,
  string,
];

const blob = (hash: string, content: string) => `${hash} blob ${Buffer.byteLength(content)}\n${content}\n`;
const section = (name: string, [before, after]: [string, string], head = "new file mode 100644\n") =>
  `diff --git a/${name} b/${name}\n${head}index ${before}..${after}\nGIT binary patch\nliteral 3\nKcmV\n\nliteral 0\nHcmV\n\n`;
const omitted = (name: string, [before, after]: [string, string], files: string, head: string) =>
  `diff --git a/${name} b/${name}\n${head}index ${before}..${after}\nBinary files ${files} differ\nThe content of this binary file is omitted, because it contains a secret.\n`;

async function filter(input: string, chunkLength = input.length): Promise<string> {
  const bytes = Buffer.from(input, "latin1");
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += chunkLength)
    chunks.push(bytes.subarray(start, start + chunkLength));
  return (await buffer(Readable.from(chunks).pipe(new BinaryPatchFilter(redactor)))).toString("latin1");
}

describe("the filter for binary patches", () => {
  const text =
    "diff --git a/text b/text\n--- a/text\n+++ b/text\n@@ -1 +1 @@\n-GIT binary patch\n+index 0..2\n";
  const blobs = [
    blob(clean, `\0patch\n${dirty} blob 5\nnothing`),
    blob("4".repeat(40), ""),
    blob(dirty, "\0open-sesame\npatch\n"),
    `${gone} missing\n`,
  ];
  const patch = [
    section("new", [none, clean]),
    section("a b", [none, dirty]),
    text,
    section("changed", [clean, dirty], ""),
    section("deleted", [dirty, none], "deleted file mode 100644\n"),
    section("unreadable", [gone, clean], "old mode 100644\nnew mode 100755\n"),
    section("last", [clean, clean], ""),
  ];
  const input = `${blobs.join("")}patch\n${patch.join("")}`;
  const expected = [
    patch[0],
    omitted("a b", [none, dirty], "/dev/null and b/a b", "new file mode 100644\n"),
    text,
    omitted("changed", [clean, dirty], "a/changed and b/changed", ""),
    omitted("deleted", [dirty, none], "a/deleted and /dev/null", "deleted file mode 100644\n"),
    omitted(
      "unreadable",
      [gone, clean],
      "a/unreadable and b/unreadable",
      "old mode 100644\nnew mode 100755\n",
    ),
    patch[6],
  ].join("");

  test.each([input.length, 1, 7])("omits files with a secret, in chunks of %i bytes", async (length) => {
    expect(await filter(input, length)).toBe(expected);
  });

  test("names both paths of a renamed file", async () => {
    const head = "similarity index 60%\nrename from old name\nrename to new\n";
    const renamed = `diff --git a/old name b/new\n${head}index ${clean}..${dirty}\nGIT binary patch\nliteral 3\nKcmV\n\n`;
    expect(await filter(`${blob(dirty, "open-sesame")}patch\n${renamed}`)).toContain(
      "Binary files a/old name and b/new differ\n",
    );
  });

  test("passes long lines on", async () => {
    const long = `${text}+${"x".repeat(200_000)}\n+GIT binary patch\n`;
    expect(await filter(`patch\n${long}`, 50_000)).toBe(long);
  });

  test("rejects output that is not from git", async () => {
    await expect(filter("fatal: not a repository\n")).rejects.toThrow("unexpected line");
  });
});
