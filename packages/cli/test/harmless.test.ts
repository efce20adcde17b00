import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { harmless, harmlessJson, harmlessLine } from "../src/terminal/harmless.ts";

describe("text for a terminal", () => {
  test.each([
    ["colours", "\x1b[31mred\x1b[0m", "red"],
    ["cursor and screen", "a\x1b[2J\x1b[1;1Hb", "ab"],
    ["the title", "\x1b]0;owned\x07x", "x"],
    ["the clipboard", "\x1b]52;c;cm0gLXJm\x1b\\x", "x"],
    ["a link that shows another address", "\x1b]8;;https://evil\x1b\\good\x1b]8;;\x1b\\", "good"],
    ["device control", "\x1bPq#0\x1b\\x", "x"],
    ["a reset", "\x1bcx", "x"],
    ["the same in eight bits", "\x9b31mx\x9d0;t\x9cy", "xy"],
  ])("has no sequence for %s", (_, text, expected) => {
    expect(harmless(text)).toBe(expected);
  });

  test.each([
    ["a sequence without an end", "a\x1b]0;never", "a␛]0;never"],
    ["backspace", "safe\b\b\b\bevil", "safe␈␈␈␈evil"],
    ["a bell", "\x07", "␇"],
    ["writing from right to left", "a\u202Etxt.exe", "a<U+202E>txt.exe"],
    ["isolates", "\u2066x\u2069", "<U+2066>x<U+2069>"],
    ["what has no width", "pass\u200Bword", "pass<U+200B>word"],
    ["letters of tags", "a\u{e0041}b", "a<U+E0041>b"],
    ["delete", "\x7f", "␡"],
  ])("shows %s", (_, text, expected) => {
    expect(harmless(text)).toBe(expected);
  });

  test("a return does not hide what stands before it", () => {
    expect(harmless("rm -rf /\rls\r\nnext")).toBe("rm -rf /\nls\nnext");
  });

  test("lines, tabs and letters of all scripts stay", () => {
    expect(harmless("a\tb\nü 漢字 👩‍👩‍👧 עברית")).toBe("a\tb\nü 漢字 👩‍👩‍👧 עברית");
    expect(harmlessLine(" a\n\tb ")).toBe("a b");
  });

  test("nothing that a terminal obeys is left of random bytes", () => {
    const letters = [
      "\x1b",
      "[",
      "]",
      "P",
      "\\",
      "\x07",
      "\x9b",
      "\x9d",
      "\x9c",
      "0",
      ";",
      "m",
      "a",
      "\n",
      "\r",
    ];
    for (let round = 0; round < 3_000; round++) {
      const text = Array.from({ length: 24 }, () => letters[Math.floor(Math.random() * letters.length)]).join(
        "",
      );
      const left = harmless(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(left, JSON.stringify(text)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
      expect(stripVTControlCharacters(left)).toBe(left);
    }
  });

  test("hostile text takes no longer than other text", () => {
    const began = performance.now();
    for (const piece of ["\x9d", "\x1b]", "\x1b[1;", "\x1bP", "\x1b[", "\x1b "])
      harmless(piece.repeat(200_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test("JSON keeps its value", () => {
    const value = { text: "\x1b[31m\x9b\u202e\u{e0041}\x7f\u2028ü" };
    const json = harmlessJson(value);
    expect(JSON.parse(json)).toEqual(value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(json).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e\u2028]/);
  });
});
