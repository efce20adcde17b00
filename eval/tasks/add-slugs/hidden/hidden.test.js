import assert from "node:assert/strict";
import { test } from "node:test";
import { slugify } from "./slug.js";

const none = new Set();
test("lower-cases and joins", () => assert.equal(slugify("Hello,  World!", none), "hello-world"));
test("removes accents", () => assert.equal(slugify("Café Déjà-vu", none), "cafe-deja-vu"));
test("has no dashes at the ends", () => assert.equal(slugify("--a--", none), "a"));
test("handles titles without letters", () => assert.equal(slugify("!?", none), "untitled"));
test("finds a free slug", () => assert.equal(slugify("A", new Set(["a", "a-2"])), "a-3"));
test("does not change the set", () => {
  const taken = new Set(["a"]);
  slugify("A", taken);
  assert.deepEqual([...taken], ["a"]);
});
