import { describe, expect, test } from "vitest";
import { makeStyle, wantsColour } from "../src/terminal/style.ts";
import { alignedTable, tabbedTable } from "../src/terminal/table.ts";
import { cut, widthOf, wrap } from "../src/terminal/width.ts";
import { CommandOutput } from "../src/transcript/command-output.ts";
import { Markdown } from "../src/transcript/markdown.ts";
import { Speech } from "../src/transcript/speech.ts";

const plain = makeStyle(false);
const colours = makeStyle(true);

describe("width", () => {
  test.each([
    ["abc", 3],
    ["漢字", 4],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["\x1b[31mred\x1b[39m", 3],
  ])("%s takes its columns", (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });

  test("what is cut fits, and says that it was cut", () => {
    expect(cut("漢字漢字", 5)).toBe("漢字…");
    expect(cut("short", 5)).toBe("short");
  });

  test("no line is wider than asked for, and no word is lost", () => {
    const text = `one two ${"long".repeat(10)} 漢字漢字漢字漢字 end`;
    const lines = wrap(text, 12);
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(12);
    expect(lines.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""));
  });
});

describe("a table", () => {
  const rows = [
    { id: "1", title: "a title that is much too long for it" },
    { id: "22", title: "b\u202e\nc" },
  ];
  const columns = [
    { title: "ID", text: ({ id }: { id: string }) => id },
    { title: "TITLE", text: ({ title }: { title: string }) => title, gives: true as const },
    { title: "NONE", text: () => "" },
  ];

  test("fits the terminal, without columns in which nothing stands", () => {
    expect(alignedTable(rows, columns, { width: 20, style: plain }).split("\n")).toEqual([
      "ID  TITLE",
      "1   a title that is…",
      "22  b<U+202E> c",
    ]);
  });

  test("is whole and tabbed for programs", () => {
    expect(tabbedTable(rows, columns).split("\n")[0]).toBe("1\ta title that is much too long for it\t");
  });
});

describe("colour", () => {
  test.each([
    ["a terminal has it", {}, true, true, true],
    ["a pipe has not", {}, false, true, false],
    ["NO_COLOR says no", { NO_COLOR: "1", FORCE_COLOR: "1" }, true, true, false],
    ["an empty NO_COLOR says nothing", { NO_COLOR: "" }, true, true, true],
    ["FORCE_COLOR says yes", { FORCE_COLOR: "1" }, false, true, true],
    ["FORCE_COLOR=0 says no", { FORCE_COLOR: "0" }, true, true, false],
    ["the flag is the last word", { FORCE_COLOR: "1" }, true, false, false],
    ["a dumb terminal has not", { TERM: "dumb" }, true, true, false],
  ])("%s", (_, environment, isTerminal, flag, expected) => {
    expect(wantsColour({ flag, environment, isTerminal })).toBe(expected);
  });
});

describe("Markdown", () => {
  test("stays as it is without colours", () => {
    const markdown = new Markdown(plain, 80);
    for (const line of ["# Title", "- **a** `b`", "```sh", "x", "```"])
      expect(markdown.line(line)).toEqual([line]);
  });

  test("becomes colours, and code is not read as Markdown", () => {
    const markdown = new Markdown(colours, 80);
    expect(markdown.line("# Title")).toEqual([colours.bold("Title")]);
    expect(markdown.line("- **a** `b`")).toEqual([`• ${colours.bold("a")} ${colours.cyan("b")}`]);
    expect(markdown.line("```")).toEqual([]);
    expect(markdown.line("# no title")).toEqual([`  ${colours.cyan("# no title")}`]);
  });

  test("items hang under their mark", () => {
    expect(new Markdown(plain, 14).line("- one two three")).toEqual(["- one two", "  three"]);
  });
});

describe("speech", () => {
  test("lines are told as they come, and the message adds what is missing", () => {
    const speech = new Speech();
    expect(speech.hear("one\ntw")).toEqual(["one"]);
    expect(speech.open).toBe("tw");
    expect(speech.hear("o\n")).toEqual(["two"]);
    expect(speech.settle("one\ntwo\nthree")).toEqual({ lines: ["three"], isAnew: false });
    expect(speech.settle("next")).toEqual({ lines: ["next"], isAnew: false });
  });

  test("begins with its first words, whatever empty lines stand before them", () => {
    const speech = new Speech();
    expect(speech.hear("\n\none\n")).toEqual(["one"]);
    expect(speech.settle("\n\none\ntwo")).toEqual({ lines: ["two"], isAnew: false });
  });

  test("where pieces were lost, the whole is told again", () => {
    const speech = new Speech();
    speech.hear("two\n");
    expect(speech.settle("one\ntwo\n")).toEqual({ lines: ["one", "two"], isAnew: true });
  });
});

test("of a command's output the last lines are kept, across pieces that end anywhere", () => {
  const output = new CommandOutput(2);
  for (const piece of ["a\nb", "b\nc\n", "d"]) output.add(piece);
  output.close();
  expect(output.lines).toEqual(["c", "d"]);
  expect(output.dropped).toBe(2);
});
