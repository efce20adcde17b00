import assert from "node:assert/strict";
import { test } from "node:test";
import { truncate } from "./truncate.js";

const family = "\u{1F468}\u200D\u{1F469}\u200D\u{1F467}";
test("keeps short text", () => assert.equal(truncate("abc", 3), "abc"));
test("shortens text", () => assert.equal(truncate("abcdef", 4), "abc…"));
test("keeps emoji whole", () => assert.equal(truncate("\u{1F600}\u{1F601}\u{1F602}", 2), "\u{1F600}…"));
test("counts a joined emoji once", () => assert.equal(truncate(`${family}ab`, 3), `${family}ab`));
test("keeps accents", () => assert.equal(truncate("e\u0301e\u0301e\u0301", 2), "e\u0301…"));
test("handles 1", () => assert.equal(truncate("abc", 1), "…"));
