import { defineConfig } from "vitest/config";
import { CountReporter } from "./scripts/reporter.ts";

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts", "e2e/**/*.test.ts", "scripts/**/*.test.ts"],
    // Long rounds: `make full` plays them.
    exclude: ["**/node_modules/**", ...(process.env.OUTRIDER_FULL === "1" ? [] : ["**/*.full.test.ts"])],
    globalSetup: ["packages/server/test/postgres.ts"],
    pool: "forks",
    // One more than the two cores of a small machine: tests of timeouts, leases and retries wait as much as they work.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", new CountReporter()],
  },
});
