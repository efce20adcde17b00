import assert from "node:assert/strict";
import { test } from "node:test";

process.env.TZ = "Europe/Berlin";
const { daysBetween } = await import("./dates.js");

test("counts days within a month", () => assert.equal(daysBetween("2024-01-01", "2024-01-31"), 30));
test("counts the short day in spring", () => assert.equal(daysBetween("2024-03-30", "2024-04-01"), 2));
test("counts the long day in autumn", () => assert.equal(daysBetween("2024-10-26", "2024-10-28"), 2));
test("accepts swapped arguments", () => assert.equal(daysBetween("2024-02-10", "2024-02-01"), 9));
test("returns 0 for the same day", () => assert.equal(daysBetween("2024-02-10", "2024-02-10"), 0));
