import { expect, test } from "vitest";
import { splitLastCharacter } from "../../src/workspace/last-character.ts";

test.each([
  ["", "", ""],
  ["text", "text", ""],
  ["a\xc3", "a", "\xc3"],
  ["a\xc3\xa4", "a\xc3\xa4", ""],
  ["a\xe2\x82", "a", "\xe2\x82"],
  ["\xf0\x9f\x98", "", "\xf0\x9f\x98"],
  ["\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", ""],
  ["not UTF-8: \xff", "not UTF-8: \xff", ""],
  ["\x80\x80\x80\x80", "\x80\x80\x80\x80", ""],
])("the bytes %j are split into %j and %j", (bytes, complete, incomplete) => {
  const split = splitLastCharacter(Buffer.from(bytes, "latin1"));
  expect(split.complete.toString("latin1")).toBe(complete);
  expect(split.incomplete.toString("latin1")).toBe(incomplete);
});
