import { describe, expect, it } from "vitest";
import { newRun } from "../run.ts";

/** Applies a patch to a folder with these files, and returns the result and the files afterwards. */
async function apply(files: Record<string, string | Buffer>, ...lines: string[]) {
  const input = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  const run = await newRun(`CALL: apply_patch ${JSON.stringify({ input })}`);
  for (const [path, text] of Object.entries(files)) await run.folder.writeBytes(path, Buffer.from(text));
  await run.turn();
  const read = (path: string) => run.folder.read(path).catch(() => undefined);
  const answer = run.all("tool.returned").at(-1);
  return { run, read, answer, output: answer?.output ?? "", changes: run.all("file.changed") };
}

describe("apply_patch", () => {
  it("changes, creates, moves and deletes files", async () => {
    const { read, output, changes } = await apply(
      { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.txt": "c\nd\n" },
      "*** Update File: a.txt",
      "@@",
      " one",
      "-two",
      "+2",
      "+2.5",
      " three",
      "*** Add File: new/file.txt",
      "+first",
      "+",
      "+last",
      "*** Delete File: b.txt",
      "*** Update File: c.txt",
      "*** Move to: moved/c.txt",
      "@@",
      "-c",
      "+C",
    );
    expect(output).toBe(
      "Applied the patch: modified a.txt, created new/file.txt, deleted b.txt, deleted c.txt, created moved/c.txt.",
    );
    expect(await read("a.txt")).toBe("one\n2\n2.5\nthree\n");
    expect(await read("new/file.txt")).toBe("first\n\nlast\n");
    expect(await read("b.txt")).toBeUndefined();
    expect(await read("c.txt")).toBeUndefined();
    expect(await read("moved/c.txt")).toBe("C\nd\n");
    expect(changes.map(({ kind }) => kind)).toEqual(["modified", "created", "deleted", "deleted", "created"]);
  });

  it("applies several hunks in order, and uses the lines after @@ to find them", async () => {
    const text = "def a():\n  x\n  return 1\n\nclass B:\n  def c():\n    x\n    return 1\n";
    const { read } = await apply(
      { "a.py": text },
      "*** Update File: a.py",
      "@@ def a():",
      "   x",
      "-  return 1",
      "+  return 2",
      "@@ class B:",
      "@@   def c():",
      "     x",
      "-    return 1",
      "+    return 3",
      "+# end",
      "*** End of File",
    );
    expect(await read("a.py")).toBe(
      "def a():\n  x\n  return 2\n\nclass B:\n  def c():\n    x\n    return 3\n# end\n",
    );
  });

  it("ignores the line numbers of a unified diff, and adds lines to the end", async () => {
    const { read } = await apply(
      { a: "one\ntwo\n" },
      "*** Update File: a",
      "@@ -7,2 +7,2 @@",
      "-one",
      "+1",
      "@@",
      "+three",
    );
    expect(await read("a")).toBe("1\ntwo\nthree\n");
  });

  it.each([
    ["trailing whitespace", "one  \ntwo\n", " one", "-two", "+2", "one  \n2\n"],
    ["indentation", "\tone\n\t\ttwo\n", " one", "-    two", "+    2", "\tone\n\t\t2\n"],
    ["look-alike", "say \u201cone\u201d\ntwo\n", ' say "one"', "-two", "+2", "say \u201cone\u201d\n2\n"],
  ])("tolerates other %s and says so", async (ignored, before, context, removed, added, after) => {
    const { read, output } = await apply({ a: before }, "*** Update File: a", "@@", context, removed, added);
    expect(output).toMatch(new RegExp(`a was matched ignoring .*${ignored}`));
    expect(await read("a")).toBe(after);
  });

  it("keeps CR LF, a byte order mark and bytes that are not UTF-8", async () => {
    const crlf = await apply({ a: "\ufeffone\r\ntwo\r\n" }, "*** Update File: a", "@@", " one", "-two", "+2");
    expect(await crlf.read("a")).toBe("\ufeffone\r\n2\r\n");
    const bytes = Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from("gr\u00fcn")]);
    const { run } = await apply({ a: bytes }, "*** Update File: a", "@@", "-gr\u00fcn", "+\u20ac");
    const after = await run.folder.readBytes("a", 100);
    expect(after).toEqual(Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.from("\u20ac")]));
  });

  it("changes nothing if one hunk of one file does not match", async () => {
    const { read, answer, changes } = await apply(
      { a: "one\n", b: "two\n" },
      "*** Update File: a",
      "@@",
      "-one",
      "+1",
      "*** Update File: b",
      "@@",
      "-three",
      "+3",
    );
    expect(answer).toMatchObject({ is_error: true });
    expect(answer?.output).toMatch(/^No file was changed\. b, hunk 1 of 1 does not match the file\./);
    expect(await read("a")).toBe("one\n");
    expect(changes).toEqual([]);
  });

  it("restores the files if one cannot be written", async () => {
    const lines = [
      "*** Add File: a",
      "+a",
      "*** Update File: b",
      "@@",
      "-b",
      "+B",
      "*** Add File: c/d",
      "+d",
    ];
    const { read, output, changes } = await apply({ b: "b\n", c: "a file\n" }, ...lines);
    expect(output).toMatch(/^No file was changed\. /);
    expect(await read("a")).toBeUndefined();
    expect(await read("b")).toBe("b\n");
    expect(changes).toEqual([]);
  });

  it.each([
    [
      "an ambiguous hunk",
      ["*** Update File: a", "@@", "-x", "+y"],
      "matches at lines 1, 3: add more context",
    ],
    ["a missing file", ["*** Update File: none", "@@", "-x", "+y"], "none does not exist"],
    ["a file to add that exists", ["*** Add File: ./a", "+x"], 'a already exists: use "*** Update File"'],
    ["a target that exists", ["*** Update File: a", "*** Move to: b"], "b already exists"],
    ["an unknown header", ["*** Change File: a"], 'must be a line such as "*** Update File: path"'],
    ["an unmarked line", ["*** Update File: a", "@@", "x"], 'must start with "+", "-" or a space'],
    ["an unmarked new line", ["*** Add File: n", "x"], 'must start with "+", but there is "x"'],
    ["an unknown @@ line", ["*** Update File: a", "@@ nowhere", "-x", "+y"], 'matches "@@ nowhere"'],
    ["no file", [], "The patch is empty"],
  ])("rejects %s", async (_, lines, message) => {
    const { answer, changes, read } = await apply({ a: "x\n\nx\n", b: "b\n" }, ...lines);
    expect(answer).toMatchObject({ is_error: true, output: expect.stringContaining(message) });
    expect(changes).toEqual([]);
    expect(await read("a")).toBe("x\n\nx\n");
  });

  it("rejects a text without markers, and gives up on a long repetitive file", async () => {
    const run = await newRun('CALL: apply_patch {"input": "--- a\\n+++ b"}');
    await run.turn();
    expect(run.all("tool.returned").at(-1)?.output).toContain('must start with the line "*** Begin Patch"');
    const { output } = await apply(
      { a: "x\n".repeat(20_000) },
      "*** Update File: a",
      ...Array(2_000).fill(" x"),
      "-y",
    );
    expect(output).toContain("too repetitive for this patch");
  });
});
