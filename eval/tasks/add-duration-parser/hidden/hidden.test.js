import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDuration } from "./duration.js";

const valid = { "90s": 90_000, "1h30m": 5_400_000, "2d": 172_800_000, "1h 5s": 3_605_000, "1.5h": 5_400_000, "250ms": 250, "1m5ms": 60_005, "0s": 0 };
for (const [text, ms] of Object.entries(valid)) test(`parses ${text}`, () => assert.equal(parseDuration(text), ms));
for (const text of ["", " ", "5", "h", "-1s", "1s1m", "1s1s", "1x", "1h,5m", "1 hour", "1..5h", "s5"])
  test(`rejects ${JSON.stringify(text)}`, () =>
    assert.throws(() => parseDuration(text), (error) => error instanceof RangeError && error.message.includes(text)));
