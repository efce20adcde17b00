import { afterAll } from "vitest";
import type { TestEngine } from "./test-engine.ts";

/** Returns the address of an engine that starts with the first test of this file that uses it, and stops with the last. */
export function engineOfFile(start: () => Promise<TestEngine>): () => Promise<string> {
  let engine: Promise<TestEngine> | undefined;
  afterAll(async () => await (await engine)?.stop());
  return async () => {
    engine ??= start();
    return (await engine).host;
  };
}
