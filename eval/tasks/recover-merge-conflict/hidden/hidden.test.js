import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { format } from "./format.js";

test("shows the currency", () => assert.equal(format(1234), "€12.34"));
test("accepts another currency", () => assert.equal(format(5, "$"), "$0.05"));
test("shows negative amounts in parentheses", () => {
  assert.equal(format(-1234), "(€12.34)");
  assert.equal(format(-5, "$"), "($0.05)");
});
test("has no conflict markers", () => assert.doesNotMatch(readFileSync("format.js", "utf8"), /^[<=>]{7}/m));
