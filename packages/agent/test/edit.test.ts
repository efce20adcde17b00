import { describe, expect, it } from "vitest";
import { newRun } from "./run.ts";

async function edit(before: string | Buffer, edits: object[]) {
  const run = await newRun(`CALL: edit_file ${JSON.stringify({ path: "file.txt", edits })}`);
  await run.folder.writeBytes("file.txt", Buffer.from(before));
  await run.turn();
  const after = await run.folder.readBytes("file.txt", 1e9);
  return { run, after, text: after.toString(), answer: run.all("tool.returned").at(-1) };
}

describe("edit_file", () => {
  it("replaces a text, and its event has the patch", async () => {
    const { run, text, answer } = await edit("one\ntwo\nthree\n", [{ old_text: "two", new_text: "2" }]);
    expect(text).toBe("one\n2\nthree\n");
    expect(answer?.output).toBe("Changed file.txt in 1 place, from line 2 on.");
    expect(run.all("file.changed")).toMatchObject([{ path: "file.txt", kind: "modified" }]);
  });

  it("makes several edits, each on what the last one left", async () => {
    const { text } = await edit("a b c\n", [
      { old_text: "a b", new_text: "x $& y" },
      { old_text: "y c", new_text: "z" },
    ]);
    expect(text).toBe("x $& z\n");
  });

  it("makes none of them where one cannot be made, and says which", async () => {
    const { run, text, answer } = await edit("one\ntwo\n", [
      { old_text: "one", new_text: "1" },
      { old_text: "three", new_text: "3" },
    ]);
    expect(text).toBe("one\ntwo\n");
    expect(answer).toMatchObject({ is_error: true, output: expect.stringContaining("Edit 2 of 2") });
    expect(run.all("file.changed")).toEqual([]);
  });

  it("refuses what stands there more than once, and says where", async () => {
    const { answer } = await edit("x\ny\nx\nx\n", [{ old_text: "x", new_text: "z" }]);
    expect(answer).toMatchObject({
      is_error: true,
      output: expect.stringContaining("stands 3 times in the file, at lines 1, 3, 4."),
    });
  });

  it("replaces all of them when it is told to", async () => {
    const { text, answer } = await edit("x\ny\nx\n", [{ old_text: "x", new_text: "xx", replace_all: true }]);
    expect(text).toBe("xx\ny\nxx\n");
    expect(answer?.output).toContain("in 2 places");
  });

  it.each([
    [
      "the indentation",
      "\tif (a) {\n\t\tb();\n",
      "    if (a) {\n        b();",
      "indented by 1 tabs, not by 4 spaces",
    ],
    ["the end of a line", "one  \ntwo\n", "one\ntwo", "line 1 of it differs at its end"],
    ["what lies between words", "a  =  b\n", "a = b", "differs within"],
  ])("says where only %s differs, with the passage", async (_, before, old_text, hint) => {
    const { answer } = await edit(`head\n${before}`, [{ old_text, new_text: "new" }]);
    expect(answer?.output).toContain(hint);
    expect(answer?.output).toContain(`2\t${before.split("\n")[0]}`);
  });

  it("shows the passage that comes nearest", async () => {
    const before = "import a\n\nfunction add(x, y) {\n  const sum = x + y;\n  return sum;\n}\n";
    const old_text = "function add(a, b) {\n  const sum = x + y;\n  return sum;";
    const { answer } = await edit(before, [{ old_text, new_text: "new" }]);
    expect(answer?.output).toContain("3\tfunction add(x, y) {\n4\t  const sum = x + y;");
  });

  it("knows line numbers when it is given them", async () => {
    const { answer } = await edit("one\ntwo\n", [{ old_text: "1\tone\n2\ttwo", new_text: "x" }]);
    expect(answer?.output).toContain("leave out the line numbers");
  });

  it("keeps line ends of two letters, and the mark at the beginning", async () => {
    const { text } = await edit("\ufeffone\r\ntwo\r\nthree\r\n", [
      { old_text: "one\ntwo", new_text: "1\n1.5\n2" },
      { old_text: "three", new_text: "3\n4" },
    ]);
    expect(text).toBe("\ufeff1\r\n1.5\r\n2\r\n3\r\n4\r\n");
  });

  it("leaves line ends alone where they are mixed", async () => {
    const { text } = await edit("one\r\ntwo\nthree\r\n", [{ old_text: "two\nthree", new_text: "2\n3" }]);
    expect(text).toBe("one\r\ntwo\nthree\r\n".replace("two\nthree", "2\n3"));
  });

  it("keeps bytes that are no text as they are", async () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from(" grün "),
      Buffer.from([0xc3]),
    ]);
    const { after } = await edit(bytes, [{ old_text: "grün", new_text: "rot €" }]);
    const expected = [Buffer.from([0xff, 0xfe, 0x80]), Buffer.from(" rot € "), Buffer.from([0xc3])];
    expect(after.equals(Buffer.concat(expected))).toBe(true);
  });

  it("of a large file with nothing alike is refused soon", async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index} ${"y".repeat(40)}`).join("\n");
    const began = performance.now();
    const { answer } = await edit(lines, [{ old_text: "z".repeat(50_000), new_text: "" }]);
    expect(answer).toMatchObject({ is_error: true });
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
