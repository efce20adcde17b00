import { defineConfig } from "vitest/config";

/** For `make screenshots`: the pictures are taken in the world of the tests, which vitest provides. */
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
