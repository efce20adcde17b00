import { describe, expect, it } from "vitest";
import {
  type FileResults,
  filesToRetry,
  mergeRetry,
  namesOfFailed,
  type Results,
  summaryOf,
} from "./results.ts";

const file = (results: Partial<FileResults>): FileResults => ({
  passed: 0,
  skipped: 0,
  failed: [],
  broken: 0,
  ...results,
});
const run = (files: Record<string, FileResults>, unattributed = 0): Results => ({ files, unattributed });

describe("files to retry", () => {
  it("are those with a failed test or hook", () => {
    const results = run({
      "e2e/a.test.ts": file({ failed: ["a"] }),
      "e2e/b.test.ts": file({ passed: 3 }),
      "e2e/c.test.ts": file({ broken: 1 }),
    });
    expect(filesToRetry(results)).toEqual(["e2e/a.test.ts", "e2e/c.test.ts"]);
  });

  it.each([
    "packages/server/test/dispatch/races.test.ts",
    "packages/server/test/runs/engine-model.test.ts",
    "packages/worker/test/escape/files.test.ts",
    "packages/worker/test/egress/proxy.test.ts",
    "packages/worker/test/redaction/redact.test.ts",
    "e2e/chaos/chaos.test.ts",
  ])("are none if %s failed", (path) => {
    expect(
      filesToRetry(run({ "e2e/a.test.ts": file({ failed: ["a"] }), [path]: file({ failed: ["b"] }) })),
    ).toEqual([]);
  });

  it("are none after an unhandled error or a broken teardown", () => {
    expect(filesToRetry(run({ "e2e/a.test.ts": file({ failed: ["a"] }) }, 1))).toEqual([]);
  });

  it("are none if more than ten files failed", () => {
    const names = Array.from({ length: 11 }, (_, index) => `e2e/${index}.test.ts`);
    expect(
      filesToRetry(run(Object.fromEntries(names.map((name) => [name, file({ failed: ["a"] })])))),
    ).toEqual([]);
  });
});

describe("failed tests", () => {
  it("are listed with their files, and failed hooks once per file", () => {
    const results = run({
      "a.ts": file({ failed: ["x"] }),
      "b.ts": file({ passed: 1 }),
      "c.ts": file({ broken: 2 }),
    });
    expect(namesOfFailed(results)).toEqual(["a.ts > x", "c.ts > (the file or one of its hooks)"]);
  });
});

describe("a retry", () => {
  const first = run({
    "a.ts": file({ passed: 2, failed: ["x", "y"] }),
    "b.ts": file({ passed: 4, skipped: 1 }),
  });

  it("replaces the results of its files and lists what passed as flaky", () => {
    const { results, flaky } = mergeRetry(first, run({ "a.ts": file({ passed: 4 }) }));
    expect(flaky).toEqual(["a.ts > x", "a.ts > y"]);
    expect(summaryOf(results)).toBe("8 passed, 0 failed, 1 skipped");
  });

  it("keeps a test that fails again, and adds one that failed only now", () => {
    const { results, flaky } = mergeRetry(first, run({ "a.ts": file({ passed: 2, failed: ["y", "z"] }) }));
    expect(flaky).toEqual(["a.ts > x"]);
    expect(summaryOf(results)).toBe("6 passed, 2 failed, 1 skipped");
  });

  it("lists nothing of a file whose hooks failed in the retry", () => {
    const { results, flaky } = mergeRetry(first, run({ "a.ts": file({ skipped: 4, broken: 1 }) }));
    expect(flaky).toEqual([]);
    expect(summaryOf(results)).toBe("4 passed, 1 failed, 5 skipped");
  });
});
