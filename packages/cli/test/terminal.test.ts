import { describe, expect, test } from "vitest";
import { createStyle, wantsColor } from "../src/terminal/style.ts";
import { alignedTable, tabbedTable } from "../src/terminal/table.ts";
import { truncate, widthOf, wrap } from "../src/terminal/width.ts";
import { AgentText } from "../src/transcript/agent-text.ts";
import { CommandOutput } from "../src/transcript/command-output.ts";
import { Markdown } from "../src/transcript/markdown.ts";

const plain = createStyle(false);
const colors = createStyle(true);

describe("terminal width", () => {
  test.each([
    ["abc", 3],
    ["漢字", 4],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["한", 2],
    ["𠮷", 2],
    ["ｶﾞ", 2],
    ["a\u200bb", 2],
    ["\x1b[31mred\x1b[39m", 3],
  ])("measures %s", (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  test("truncates with an ellipsis", () => {
    expect(truncate("漢字漢字", 5)).toBe("漢字…");
    expect(truncate("short", 5)).toBe("short");
  });

  test("wraps without exceeding the width or losing words", () => {
    const text = `one two ${"long".repeat(10)} 漢字漢字漢字漢字 end`;
    const lines = wrap(text, 12);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(12);
    expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
  });
});

describe("tables", () => {
  const rows = [
    { id: "1", title: "a title that is much too long for it" },
    { id: "22", title: "b\u202e\nc" },
  ];
  const columns = [
    { title: "ID", text: ({ id }: { id: string }) => id },
    { title: "TITLE", text: ({ title }: { title: string }) => title, canShrink: true as const },
    { title: "NONE", text: () => "" },
  ];

  test("fit the terminal and omit empty columns", () => {
    expect(alignedTable(rows, columns, { width: 20, style: plain }).split("\n")).toEqual([
      "ID  TITLE",
      "1   a title that is…",
      "22  b<U+202E> c",
    ]);
  });

  test("align columns after wide characters", () => {
    const names = [
      { name: "plain", end: "1" },
      { name: "漢字", end: "2" },
      { name: "𠮷野家", end: "3" },
      { name: "👩‍👩‍👧 ok", end: "4" },
    ];
    const lines = alignedTable(
      names,
      [
        { title: "NAME", text: ({ name }) => name },
        { title: "END", text: ({ end }) => end },
      ],
      { width: 80, style: plain },
    ).split("\n");
    expect(lines).toEqual(["NAME    END", "plain   1", "漢字    2", "𠮷野家  3", "👩‍👩‍👧 ok   4"]);
  });

  test("are tab-separated and complete for programs", () => {
    expect(tabbedTable(rows, columns).split("\n")[0]).toBe("1\ta title that is much too long for it\t");
  });
});

describe("colors", () => {
  test.each([
    ["are on for a terminal", {}, true, true, true],
    ["are off in a pipe", {}, false, true, false],
    ["are off with NO_COLOR", { NO_COLOR: "1", FORCE_COLOR: "1" }, true, true, false],
    ["ignore an empty NO_COLOR", { NO_COLOR: "" }, true, true, true],
    ["are on with FORCE_COLOR", { FORCE_COLOR: "1" }, false, true, true],
    ["are off with FORCE_COLOR=0", { FORCE_COLOR: "0" }, true, true, false],
    ["are off with --no-color", { FORCE_COLOR: "1" }, true, false, false],
    ["are off on a dumb terminal", { TERM: "dumb" }, true, true, false],
  ])("%s", (_, environment, isTerminal, flag, expected) => {
    expect(wantsColor({ flag, environment, isTerminal })).toBe(expected);
  });
});

describe("Markdown", () => {
  test("is unchanged without colors", () => {
    const markdown = new Markdown(plain, 80);
    for (const line of ["# Title", "- **a** `b`", "```sh", "x", "```"])
      expect(markdown.line(line)).toEqual([line]);
  });

  test("is rendered with colors, except inside code blocks", () => {
    const markdown = new Markdown(colors, 80);
    expect(markdown.line("# Title")).toEqual([colors.bold("Title")]);
    expect(markdown.line("- **a** `b`")).toEqual([`• ${colors.bold("a")} ${colors.cyan("b")}`]);
    expect(markdown.line("```")).toEqual([]);
    expect(markdown.line("# no title")).toEqual([`  ${colors.cyan("# no title")}`]);
  });

  test("indents wrapped list items", () => {
    expect(new Markdown(plain, 14).line("- one two three")).toEqual(["- one two", "  three"]);
  });
});

describe("AgentText", () => {
  test("returns lines as they arrive, then the missing lines of the message", () => {
    const text = new AgentText();
    expect(text.append("one\ntw")).toEqual(["one"]);
    expect(text.partialLine).toBe("tw");
    expect(text.append("o\n")).toEqual(["two"]);
    expect(text.complete("one\ntwo\nthree")).toEqual({ lines: ["three"], isReprinted: false });
    expect(text.complete("next")).toEqual({ lines: ["next"], isReprinted: false });
  });

  test("skips leading empty lines", () => {
    const text = new AgentText();
    expect(text.append("\n\none\n")).toEqual(["one"]);
    expect(text.complete("\n\none\ntwo")).toEqual({ lines: ["two"], isReprinted: false });
  });

  test("returns the complete message if deltas were lost", () => {
    const text = new AgentText();
    text.append("two\n");
    expect(text.complete("one\ntwo\n")).toEqual({ lines: ["one", "two"], isReprinted: true });
  });
});

test("CommandOutput keeps the last lines of output that arrives in arbitrary pieces", () => {
  const output = new CommandOutput(2);
  for (const piece of ["a\nb", "b\nc\n", "d"]) output.add(piece);
  output.close();
  expect(output.lines).toEqual(["c", "d"]);
  expect(output.dropped).toBe(2);
});
