import { writeFileSync } from "node:fs";
import type { SerializedError } from "vitest";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { countFailures, type FileResults, type Results, summaryOf } from "./results.ts";

/**
 * Prints each failed test at once, and `N passed, N failed` as the very last line of a run. The summary waits for the
 * exit of the process, because the other reporter and the global teardown still print after the last test. With
 * `OUTRIDER_TEST_RESULTS` set, the results go to that file instead, for the program that retries failed files.
 */
export class SummaryReporter implements Reporter {
  #results: Results = { files: {}, unattributed: 0 };

  onInit() {
    process.once("exit", (code) => this.#finish(code));
  }

  onTestCaseResult(test: TestCase) {
    if (test.result().state === "failed")
      console.log(`failed: ${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>) {
    const files = modules.map((module) => [module.relativeModuleId, resultsOf(module)]);
    this.#results = { files: Object.fromEntries(files), unattributed: unhandled.length };
  }

  #finish(code: number) {
    // A broken setup or teardown fails the process without failing a test.
    if (code !== 0 && countFailures(this.#results) === 0) this.#results.unattributed = 1;
    const file = process.env.OUTRIDER_TEST_RESULTS;
    if (file) writeFileSync(file, JSON.stringify(this.#results));
    else process.stdout.write(`${summaryOf(this.#results)}\n`);
  }
}

function resultsOf(module: TestModule): FileResults {
  const tests = (state: "passed" | "failed" | "skipped") => [...module.children.allTests(state)];
  const groups = [module, ...module.children.allSuites()];
  return {
    passed: tests("passed").length,
    skipped: tests("skipped").length,
    failed: tests("failed").map((test) => test.fullName),
    broken: groups.filter((group) => group.errors().length > 0).length,
  };
}
