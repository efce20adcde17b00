import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

/**
 * Prints `N passed, N failed` as the very last line of a run. It waits for the exit of the process, because
 * the other reporter's summary and the global teardown still speak after the last test.
 */
export class CountReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  onInit() {
    process.once("exit", (code) => process.stdout.write(`${this.#line(code)}\n`));
  }

  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandled: ReadonlyArray<SerializedError>) {
    const count = (state: "passed" | "failed" | "skipped") =>
      modules.reduce((sum, module) => sum + [...module.children.allTests(state)].length, 0);
    // A file that cannot be read and a hook that throws fail without failing any one test.
    const groups = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const broken = groups.filter((group) => group.errors().length > 0);

    this.#passed = count("passed");
    this.#failed = count("failed") + broken.length + unhandled.length;
    this.#skipped = count("skipped");
  }

  /** The line never speaks better of the run than its exit code: a broken set-up or teardown is one failure. */
  #line(code: number): string {
    const failed = code === 0 ? this.#failed : Math.max(this.#failed, 1);
    const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : "";
    return `${this.#passed} passed, ${failed} failed${skipped}`;
  }
}
