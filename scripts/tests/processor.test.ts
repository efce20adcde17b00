import { expect, test } from "vitest";
import { isStarved, parseProcessorTime } from "./processor.ts";

test("the first line of /proc/stat has the time of all processors", () => {
  const stat = "cpu  100 20 30 4000 500 6 7 800 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
  expect(parseProcessorTime(stat)).toEqual({ usedTicks: 163, stolenTicks: 800 });
});

test.each([
  { what: "a busy machine", used: 100, stolen: 0, starved: false },
  { what: "a machine that shares its host", used: 50, stolen: 50, starved: false },
  { what: "a machine that gets a tenth of the time", used: 10, stolen: 90, starved: true },
  { what: "an idle machine", used: 0, stolen: 2, starved: false },
])("$what is starved: $starved", ({ used, stolen, starved }) => {
  const before = { usedTicks: 1_000, stolenTicks: 5_000 };
  const after = { usedTicks: 1_000 + used, stolenTicks: 5_000 + stolen };
  expect(isStarved(before, after)).toBe(starved);
});
