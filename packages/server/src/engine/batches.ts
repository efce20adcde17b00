import { ApiError } from "./api-error.ts";

/**
 * Checks whether a batch is the next one or a repetition, which must not be written again. Throws otherwise. Workers
 * report the events of runs and builds in batches numbered from 1, and repeat a batch if its response is lost.
 */
export function checkBatch(batch: number, lastBatch: number): "next" | "repeated" {
  if (batch === lastBatch + 1) return "next";
  if (batch === lastBatch) return "repeated";
  throw new ApiError("conflict", `Expected batch ${lastBatch + 1}, not ${batch}.`);
}
