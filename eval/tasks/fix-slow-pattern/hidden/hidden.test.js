import assert from "node:assert/strict";
import { test } from "node:test";
import { isToken } from "./header.js";

const valid = ["a", "ab", "a-b", "abc-def-0", "x-1-y"];
const invalid = ["", "-", "-a", "a-", "a--b", "A", "a b", "a_b", "a\n"];
for (const value of valid) test(`accepts ${JSON.stringify(value)}`, () => assert.equal(isToken(value), true));
for (const value of invalid) test(`rejects ${JSON.stringify(value)}`, () => assert.equal(isToken(value), false));
test("takes linear time", () => {
  assert.equal(isToken(`${"a".repeat(200_000)}!`), false);
  assert.equal(isToken(`${"a-".repeat(100_000)}a`), true);
  assert.equal(isToken(`${"a-".repeat(100_000)}-`), false);
});
