import assert from "node:assert/strict";
import { test } from "node:test";
import { compare } from "./versions.js";

const ascending = [
  "0.9.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11",
  "1.0.0-rc.1", "1.0.0", "1.0.1-0", "1.0.1-a-b", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
];
for (let i = 0; i < ascending.length; i++)
  for (let j = 0; j < ascending.length; j++)
    test(`${ascending[i]} and ${ascending[j]}`, () =>
      assert.equal(Math.sign(compare(ascending[i], ascending[j])), Math.sign(i - j)));
test("ignores build metadata", () => {
  assert.equal(compare("1.0.0+a", "1.0.0+b"), 0);
  assert.equal(compare("1.0.0-rc.1+x-y", "1.0.0-rc.1"), 0);
});
