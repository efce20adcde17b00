import { expect, test } from "vitest";
import { restartDelay } from "../src/local-workers.ts";

test("a worker that fails at every start is restarted less and less often", () => {
  const delays = [1, 2, 3, 4, 5, 6, 100].map(restartDelay);
  expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});
