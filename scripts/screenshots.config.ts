import { defineConfig } from "vitest/config";

/** For `make screenshots`. It uses the installation of the web tests, which vitest starts. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/..`,
    include: ["scripts/screenshots.ts"],
    globalSetup: ["packages/server/test/postgres.ts"],
    pool: "forks",
    hookTimeout: 300_000,
    testTimeout: 120_000,
  },
});
