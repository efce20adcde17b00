import { expect, test } from "vitest";
import { findChunkingErrors } from "./chunking-check.ts";

test.each(Array.from({ length: 20 }, (_, index) => `seed ${index}`))(
  "what is masked does not depend on the chunks: %s",
  (seed) => {
    expect(findChunkingErrors(seed, 500)).toEqual([]);
  },
);
