import assert from "node:assert/strict";
import { test } from "node:test";
import { createCounter } from "./counter.js";

function createStore() {
  const values = new Map();
  const store = {
    failures: 0,
    active: 0,
    most: 0,
    async read(name) {
      store.active += 1;
      store.most = Math.max(store.most, store.active);
      await new Promise((resolve) => setTimeout(resolve, 2));
      store.active -= 1;
      return values.get(name);
    },
    async write(name, value) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (store.failures > 0) {
        store.failures -= 1;
        throw new Error("disk full");
      }
      values.set(name, value);
    },
  };
  return store;
}

test("counts concurrent increments", async () => {
  const counter = createCounter(createStore());
  const values = await Promise.all(Array.from({ length: 10 }, () => counter.increment("a")));
  assert.deepEqual(values.toSorted((a, b) => a - b), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});
test("continues after a failure", async () => {
  const store = createStore();
  const counter = createCounter(store);
  store.failures = 1;
  const results = await Promise.allSettled([counter.increment("a"), counter.increment("a")]);
  assert.deepEqual(results.map(({ status }) => status), ["rejected", "fulfilled"]);
  assert.equal(results[1].value, 1);
});
test("does not serialize different names", async () => {
  const store = createStore();
  const counter = createCounter(store);
  await Promise.all(["a", "b", "c"].map((name) => counter.increment(name)));
  assert.equal(store.most, 3);
});
