import { describe, expect, test } from "vitest";
import { TextSearch } from "../src/text-search.ts";

describe("a text search", () => {
  test("finds what indexOf finds", () => {
    for (let seed = 0; seed < 200; seed++) {
      const part = `${"ab".repeat(seed)}${"a".repeat(seed % 5)}b`;
      const text = `${"ab".repeat(seed * 2)}a${part}${"aab".repeat(seed % 7)}${part}`;
      for (const from of [0, 1, seed, text.length]) {
        expect(new TextSearch(part).indexIn(text, from)).toBe(text.indexOf(part, from));
      }
    }
  });

  test("finds parts that do not overlap, up to a number", () => {
    expect(new TextSearch("aa").allIn("aaaaa", 10)).toEqual([0, 2]);
    const part = "ab".repeat(100);
    expect(new TextSearch(part).allIn(part.repeat(5), 3)).toEqual([0, 200, 400]);
  });

  test("compares each character a constant number of times", () => {
    const part = "a".repeat(50_000);
    expect(new TextSearch(`${part}b${part}`).indexIn("a".repeat(4_000_000))).toBe(-1);
  });
});
