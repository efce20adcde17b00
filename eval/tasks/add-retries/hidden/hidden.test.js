import assert from "node:assert/strict";
import { test } from "node:test";
import { retry } from "./retry.js";

function setUp(failures, options = {}) {
  const sleeps = [];
  let calls = 0;
  const work = async () => {
    calls += 1;
    if (calls <= failures) throw new Error(`failure ${calls}`);
    return "done";
  };
  const sleep = async (ms) => void sleeps.push(ms);
  const result = retry(work, { attempts: 5, delayMs: 10, maxDelayMs: 50, sleep, shouldRetry: () => true, ...options });
  return { result, sleeps, calls: () => calls };
}

test("returns the result at once", async () => {
  const { result, sleeps } = setUp(0);
  assert.equal(await result, "done");
  assert.deepEqual(sleeps, []);
});
test("waits longer each time, up to a limit", async () => {
  const { result, sleeps } = setUp(4);
  assert.equal(await result, "done");
  assert.deepEqual(sleeps, [10, 20, 40, 50]);
});
test("throws the last error without sleeping again", async () => {
  const { result, sleeps, calls } = setUp(9, { attempts: 3 });
  await assert.rejects(result, /failure 3/);
  assert.deepEqual([calls(), sleeps], [3, [10, 20]]);
});
test("stops if the error is permanent", async () => {
  const { result, calls } = setUp(9, { shouldRetry: (error) => error.message !== "failure 2" });
  await assert.rejects(result, /failure 2/);
  assert.equal(calls(), 2);
});
test("retries work that throws synchronously", async () => {
  let calls = 0;
  const work = () => {
    calls += 1;
    if (calls === 1) throw new Error("sync");
    return 7;
  };
  const options = { attempts: 2, delayMs: 1, maxDelayMs: 1, sleep: async () => {}, shouldRetry: () => true };
  assert.equal(await retry(work, options), 7);
});
