import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "./emitter.js";

function setUp() {
  const calls = [];
  return { calls, emitter: new Emitter(), record: (name) => (value) => void calls.push(`${name} ${value}`) };
}

test("calls a listener once", () => {
  const { emitter, calls, record } = setUp();
  emitter.once("x", record("a"));
  emitter.emit("x", 1);
  emitter.emit("x", 2);
  assert.deepEqual(calls, ["a 1"]);
});
test("skips no listener", () => {
  const { emitter, calls, record } = setUp();
  emitter.once("x", record("a"));
  emitter.once("x", record("b"));
  emitter.on("x", record("c"));
  emitter.emit("x", 1);
  assert.deepEqual(calls, ["a 1", "b 1", "c 1"]);
});
test("removes a listener that was added with once", () => {
  const { emitter, calls, record } = setUp();
  const listener = record("a");
  emitter.once("x", listener);
  emitter.off("x", listener);
  emitter.emit("x", 1);
  assert.deepEqual(calls, []);
});
test("does not repeat a listener that emits the same event", () => {
  const { emitter, calls } = setUp();
  emitter.once("x", () => {
    calls.push("a");
    emitter.emit("x");
  });
  emitter.emit("x");
  assert.deepEqual(calls, ["a"]);
});
test("a listener can remove itself", () => {
  const { emitter, calls, record } = setUp();
  const own = () => {
    calls.push("own");
    emitter.off("x", own);
  };
  emitter.on("x", own);
  emitter.on("x", record("b"));
  emitter.emit("x", 1);
  emitter.emit("x", 2);
  assert.deepEqual(calls, ["own", "b 1", "b 2"]);
});
