import { stripVTControlCharacters } from "node:util";
import { describe, expect, test } from "vitest";
import { sanitize, sanitizeJson, sanitizeLine } from "../src/terminal/sanitize.ts";

describe("sanitize", () => {
  test.each([
    ["colors", "\x1b[31mred\x1b[0m", "red"],
    ["cursor and screen", "a\x1b[2J\x1b[1;1Hb", "ab"],
    ["the title", "\x1b]0;owned\x07x", "x"],
    ["the clipboard", "\x1b]52;c;cm0gLXJm\x1b\\x", "x"],
    ["a link with a misleading label", "\x1b]8;;https://evil\x1b\\good\x1b]8;;\x1b\\", "good"],
    ["device control", "\x1bPq#0\x1b\\x", "x"],
    ["a reset", "\x1bcx", "x"],
    ["8-bit sequences", "\x9b31mx\x9d0;t\x9cy", "xy"],
  ])("removes the sequence for %s", (_, text, expected) => {
    expect(sanitize(text)).toBe(expected);
  });

  test.each([
    ["an unterminated sequence", "a\x1b]0;never", "a␛]0;never"],
    ["backspace", "safe\b\b\b\bevil", "safe␈␈␈␈evil"],
    ["a bell", "\x07", "␇"],
    ["a right-to-left override", "a\u202Etxt.exe", "a<U+202E>txt.exe"],
    ["isolates", "\u2066x\u2069", "<U+2066>x<U+2069>"],
    ["a zero-width space", "pass\u200Bword", "pass<U+200B>word"],
    ["tag characters", "a\u{e0041}b", "a<U+E0041>b"],
    ["delete", "\x7f", "␡"],
  ])("makes %s visible", (_, text, expected) => {
    expect(sanitize(text)).toBe(expected);
  });

  test("turns a carriage return into a line break", () => {
    expect(sanitize("rm -rf /\rls\r\nnext")).toBe("rm -rf /\nls\nnext");
  });

  test("keeps line breaks, tabs and letters of all scripts", () => {
    expect(sanitize("a\tb\nü 漢字 👩‍👩‍👧 עברית")).toBe("a\tb\nü 漢字 👩‍👩‍👧 עברית");
    expect(sanitizeLine(" a\n\tb ")).toBe("a b");
  });

  test("removes all control sequences from random input", () => {
    const characters = [
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
      const text = Array.from(
        { length: 24 },
        () => characters[Math.floor(Math.random() * characters.length)],
      ).join("");
      const sanitized = sanitize(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that they are absent
      expect(sanitized, JSON.stringify(text)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
      expect(stripVTControlCharacters(sanitized)).toBe(sanitized);
    }
  });

  test("takes linear time for hostile text", () => {
    for (const piece of ["\x9d", "\x1b]", "\x1b[1;", "\x1bP", "\x1b[", "\x1b "])
      sanitize(piece.repeat(200_000));
  });

  test("escapes JSON without changing its value", () => {
    const value = { text: "\x1b[31m\x9b\u202e\u{e0041}\x7f\u2028ü" };
    const json = sanitizeJson(value);
    expect(JSON.parse(json)).toEqual(value);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that they are absent
    expect(json).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e\u2028]/);
  });
});
