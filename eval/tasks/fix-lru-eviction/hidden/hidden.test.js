import assert from "node:assert/strict";
import { test } from "node:test";
import { Cache } from "./cache.js";

test("reading protects an entry", () => {
  const cache = new Cache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.get("a");
  cache.set("c", 3);
  assert.deepEqual([cache.get("a"), cache.get("b"), cache.get("c")], [1, undefined, 3]);
});
test("overwriting protects an entry", () => {
  const cache = new Cache(2);
  cache.set("a", 1);
  cache.set("b", 2);
  cache.set("a", 10);
  cache.set("c", 3);
  assert.deepEqual([cache.get("a"), cache.get("b")], [10, undefined]);
});
test("stores undefined and keeps its size", () => {
  const cache = new Cache(2);
  cache.set("a", undefined);
  cache.set("b", 2);
  cache.get("a");
  cache.get("missing");
  cache.set("c", 3);
  assert.equal(cache.size, 2);
  assert.equal(cache.get("b"), undefined);
  assert.equal(cache.get("c"), 3);
});
