import { expect, test } from "vitest";
import { findChunkingErrors } from "./chunking-check.ts";

test("what is masked does not depend on the chunks", () => {
  expect(findChunkingErrors("chunks", 150)).toEqual([]);
});
