import { defineConfig } from "vitest/config";
import { SummaryReporter } from "./scripts/tests/reporter.ts";
import { testTimeout } from "./scripts/tests/wait-options.ts";

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "e2e/**/*.test.ts", "scripts/**/*.test.ts"],
    // `make full` includes the long tests.
    exclude: ["**/node_modules/**", ...(process.env.OUTRIDER_FULL === "1" ? [] : ["**/*.full.test.ts"])],
    globalSetup: ["packages/server/test/postgres.ts", "packages/worker/test/docker/shared-docker.ts"],
    pool: "forks",
    // One more than the two cores of a small machine, because many tests wait for timeouts, leases and retries.
    maxWorkers: 3,
    setupFiles: ["scripts/tests/setup-test-file.ts"],
    env: { OUTRIDER_TESTS_STARTED_AT: String(Date.now()) },
    testTimeout,
    hookTimeout: testTimeout,
    reporters: ["default", new SummaryReporter()],
  },
});
