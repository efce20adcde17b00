import assert from "node:assert/strict";
import { test } from "node:test";
import { merge } from "./merge.js";

test("merges nested settings", () => {
  assert.deepEqual(merge({ a: { b: 1, c: 2 } }, { a: { c: 3 } }), { a: { b: 1, c: 3 } });
});
test("does not change the prototype of objects", () => {
  merge({}, JSON.parse('{"__proto__": {"polluted": true}}'));
  merge({}, JSON.parse('{"constructor": {"prototype": {"polluted": true}}}'));
  assert.equal({}.polluted, undefined);
  const merged = merge({}, JSON.parse('{"__proto__": {"isAdmin": true}, "x": 1}'));
  assert.equal(merged.isAdmin, undefined);
  assert.equal(merged.x, 1);
});
test("replaces arrays", () => {
  assert.deepEqual(merge({ list: [1, 2, 3] }, { list: [4] }), { list: [4] });
});
test("changes neither argument", () => {
  const defaults = { a: { b: 1 } };
  const settings = { a: { c: 2 } };
  const merged = merge(defaults, settings);
  assert.deepEqual([defaults, settings], [{ a: { b: 1 } }, { a: { c: 2 } }]);
  merged.a.b = 5;
  assert.equal(defaults.a.b, 1);
});
test("overrides an object with null", () => assert.deepEqual(merge({ a: { b: 1 } }, { a: null }), { a: null }));
