import { describe, expect, it } from "vitest";
import { newRun } from "../run.ts";

async function edit(before: string | Buffer, edits: object[]) {
  const run = await newRun(`CALL: edit_file ${JSON.stringify({ path: "file.txt", edits })}`);
  await run.folder.writeBytes("file.txt", Buffer.from(before));
  await run.turn();
  const after = await run.folder.readBytes("file.txt", 1e9);
  return { run, after, text: after.toString(), answer: run.all("tool.returned").at(-1) };
}

describe("edit_file", () => {
  it("replaces a text and emits the patch", async () => {
    const { run, text, answer } = await edit("one\ntwo\nthree\n", [{ old_text: "two", new_text: "2" }]);
    expect(text).toBe("one\n2\nthree\n");
    expect(answer?.output).toBe("Changed file.txt: 1 replacement, the first at line 2.");
    expect(run.all("file.changed")).toMatchObject([{ path: "file.txt", kind: "modified" }]);
  });

  it("applies several edits in order", async () => {
    const { text } = await edit("a b c\n", [
      { old_text: "a b", new_text: "x $& y" },
      { old_text: "y c", new_text: "z" },
    ]);
    expect(text).toBe("x $& z\n");
  });

  it("rejects edits that multiply the text", async () => {
    const growing = { old_text: "a", new_text: "aa".repeat(100), replace_all: true };
    const { text, answer } = await edit("a\n", Array(6).fill(growing));
    expect(text).toBe("a\n");
    expect(answer?.output).toMatch(/Edit 4 of 6: the file would be larger than 33554432 bytes\.$/);
  });

  it("rejects more edits than a large file allows, and names the first of them", async () => {
    const numbers = Array.from({ length: 50 }, (_, index) => `number ${index};`);
    const before = `${"x".repeat(2 ** 21)}\n${numbers.join("\n")}`;
    const edits = numbers.map((number) => ({ old_text: number, new_text: "" }));
    const { text, answer } = await edit(before, edits);
    expect(text).toBe(before);
    expect(answer?.output).toMatch(/Edit 32 of 50: the file is too large for this number of edits\./);
  });

  it("rejects too many replacements", async () => {
    const { answer } = await edit("a\n".repeat(1_000_001), [
      { old_text: "a", new_text: "b", replace_all: true },
    ]);
    expect(answer?.output).toMatch(/more than 1000000 replacements\. Change the file with a command\.$/);
  });

  it("searches for a long repetitive text", async () => {
    const part = "a".repeat(50_000);
    const before = "a".repeat(4_000_000);
    const missing = await edit(before, [{ old_text: `${part}b${part}`, new_text: "" }]);
    expect(missing.answer?.output).toContain("old_text is not in the file");
    const found = await edit(`${before}b${before}`, [{ old_text: `${part}b${part}`, new_text: "c" }]);
    expect(found.after.length).toBe(2 * (before.length - part.length) + 1);
  });

  it("gives up comparing repeated lines", async () => {
    const old_text = `${"a\n".repeat(10_000)}b`;
    const { answer } = await edit("a\n".repeat(20_000), [{ old_text, new_text: "c" }]);
    expect(answer?.output).toContain("old_text is not in the file");
  });

  it("applies no edit if one fails, and names it", async () => {
    const { run, text, answer } = await edit("one\ntwo\n", [
      { old_text: "one", new_text: "1" },
      { old_text: "three", new_text: "3" },
    ]);
    expect(text).toBe("one\ntwo\n");
    expect(answer).toMatchObject({ is_error: true, output: expect.stringContaining("Edit 2 of 2") });
    expect(run.all("file.changed")).toEqual([]);
  });

  it("quotes the closest match without a part of a secret that continues below it", async () => {
    const edits = [{ old_text: "first line\nother", new_text: "" }];
    const run = await newRun(`CALL: edit_file ${JSON.stringify({ path: "file.txt", edits })}`);
    run.folder.redact = (text) => text.replace("open-\nsesame", "***\n");
    await run.folder.write("file.txt", "first line\nopen-\nsesame\n");
    await run.turn();
    expect(run.all("tool.returned").at(-1)?.output).toMatch(/The closest match:\n1\tfirst line\n2\t\*\*\*$/);
  });

  it("rejects an ambiguous text and lists its lines", async () => {
    const { answer } = await edit("x\ny\nx\nx\n", [{ old_text: "x", new_text: "z" }]);
    expect(answer).toMatchObject({
      is_error: true,
      output: expect.stringContaining("occurs 3 times in the file, at lines 1, 3, 4."),
    });
  });

  it("replaces all occurrences with replace_all", async () => {
    const { text, answer } = await edit("x\ny\nx\n", [{ old_text: "x", new_text: "xx", replace_all: true }]);
    expect(text).toBe("xx\ny\nxx\n");
    expect(answer?.output).toContain("2 replacements");
  });

  it.each([["the spacing between words", "a  =  b\n", "a = b", "differs inside"]])(
    "explains that only %s differs and quotes the passage",
    async (_, before, old_text, hint) => {
      const { answer } = await edit(`head\n${before}`, [{ old_text, new_text: "new" }]);
      expect(answer?.output).toContain(hint);
      expect(answer?.output).toContain(`2\t${before.split("\n")[0]}`);
    },
  );

  it.each([
    [
      "trailing whitespace",
      "one  \ntwo\t\nthree\n",
      "one\ntwo",
      "1\n2",
      "1\n2\nthree\n",
      "trailing whitespace and line endings",
    ],
    [
      "line endings of a mixed file",
      "a\none\r\ntwo \r\nthree\r\n",
      "one\ntwo\n",
      "1\n2\n",
      "a\n1\r\n2\r\nthree\r\n",
      "trailing whitespace and line endings",
    ],
    [
      "a missing indentation",
      "class A {\n    run() {\n        stop();\n    }\n}\n",
      "run() {\n    stop();\n}",
      "run() {\n    if (a) {\n        stop();\n    }\n}",
      "class A {\n    run() {\n        if (a) {\n            stop();\n        }\n    }\n}\n",
      "indentation",
    ],
    [
      "spaces instead of tabs",
      "\tif (a) {\n\t\tb();\n\t}\n",
      "    if (a) {\n        b();\n    }",
      "    if (a) {\n        if (c) {\n            d();\n        }\n    }",
      "\tif (a) {\n\t\tif (c) {\n\t\t\td();\n\t\t}\n\t}\n",
      "indentation",
    ],
    [
      "look-alike characters",
      "say(\u201chello\u201d); // a\u00a0\u2013 b\n",
      'say("hello"); // a -',
      'say("bye"); // a -',
      'say("bye"); // a - b\n',
      "look-alike characters such as quotes and dashes",
    ],
    [
      "composed and decomposed letters",
      "nai\u0308ve = 1\n",
      "na\u00efve = 1",
      "naive = 2",
      "naive = 2\n",
      "look-alike characters such as quotes and dashes",
    ],
    [
      "look-alike characters and indentation",
      "\ufeff  x = \u2018a\u2019\n  y\n",
      "x = 'a'\ny",
      "x = 'b'\ny",
      "\ufeff  x = 'b'\n  y\n",
      "indentation and look-alike characters such as quotes and dashes",
    ],
  ])(
    "matches a text that differs in %s, and says so",
    async (_, before, old_text, new_text, after, ignored) => {
      const { text, answer } = await edit(before, [{ old_text, new_text }]);
      expect(answer?.output).toContain(`Matched ignoring ${ignored}.`);
      expect(text).toBe(after);
    },
  );

  it("names the edit that differs from the file", async () => {
    const { text, answer } = await edit("one \ntwo\n\nthree\n", [
      { old_text: "three", new_text: "3" },
      { old_text: "one\ntwo", new_text: "1\n2" },
    ]);
    expect(text).toBe("1\n2\n\n3\n");
    expect(answer?.output).toMatch(/2 replacements.* Edit 2 of 2: Matched ignoring trailing whitespace/);
  });

  it("rejects a text that matches several times with the same tolerance", async () => {
    const before = "  a();\n  b();\n\n    a();\n    b();\n";
    const { text, answer } = await edit(before, [{ old_text: "\ta();\n\tb();", new_text: "c();" }]);
    expect(text).toBe(before);
    expect(answer).toMatchObject({
      is_error: true,
      output: expect.stringContaining("it matches at lines 1, 4 if one ignores indentation."),
    });
  });

  it("does not match a part of a line with another indentation", async () => {
    const { text } = await edit("maximum\n", [{ old_text: "  max", new_text: "min" }]);
    expect(text).toBe("maximum\n");
  });

  it("keeps bytes that are not valid UTF-8 if whitespace differs", async () => {
    const bytes = Buffer.concat([Buffer.from([0xff, 0x80]), Buffer.from("\ngr\u00fcn  \nrot\n")]);
    const { after } = await edit(bytes, [{ old_text: "gr\u00fcn\nrot", new_text: "blau \u20ac" }]);
    expect(after).toEqual(Buffer.concat([Buffer.from([0xff, 0x80]), Buffer.from("\nblau \u20ac\n")]));
  });

  it("quotes the closest passage", async () => {
    const before = "import a\n\nfunction add(x, y) {\n  const sum = x + y;\n  return sum;\n}\n";
    const old_text = "function add(a, b) {\n  const sum = x + y;\n  return sum;";
    const { answer } = await edit(before, [{ old_text, new_text: "new" }]);
    expect(answer?.output).toContain("3\tfunction add(x, y) {\n4\t  const sum = x + y;");
  });

  it("recognizes line numbers in old_text", async () => {
    const { answer } = await edit("one\ntwo\n", [{ old_text: "1\tone\n2\ttwo", new_text: "x" }]);
    expect(answer?.output).toContain("leave out the line numbers");
  });

  it("keeps CRLF line endings and the byte order mark", async () => {
    const { text } = await edit("\ufeffone\r\ntwo\r\nthree\r\n", [
      { old_text: "one\ntwo", new_text: "1\n1.5\n2" },
      { old_text: "three", new_text: "3\n4" },
    ]);
    expect(text).toBe("\ufeff1\r\n1.5\r\n2\r\n3\r\n4\r\n");
  });

  it("keeps mixed line endings", async () => {
    const { text } = await edit("one\r\ntwo\nthree\r\n", [{ old_text: "two\nthree", new_text: "2\n3" }]);
    expect(text).toBe("one\r\ntwo\nthree\r\n".replace("two\nthree", "2\n3"));
  });

  it("keeps bytes that are not valid UTF-8", async () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from(" grün "),
      Buffer.from([0xc3]),
    ]);
    const { after } = await edit(bytes, [{ old_text: "grün", new_text: "rot €" }]);
    const expected = [Buffer.from([0xff, 0xfe, 0x80]), Buffer.from(" rot € "), Buffer.from([0xc3])];
    expect(after.equals(Buffer.concat(expected))).toBe(true);
  });

  it("rejects an edit of a large file without a match", async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index} ${"y".repeat(40)}`).join("\n");
    const { answer } = await edit(lines, [{ old_text: "z".repeat(50_000), new_text: "" }]);
    expect(answer).toMatchObject({ is_error: true });
  });
});
