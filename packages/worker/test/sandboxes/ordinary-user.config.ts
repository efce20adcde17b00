import config from "../../../../vitest.config.ts";

/** The configuration for the tests that ordinary-user.ts starts as another user, who cannot write to this checkout. */
const { test } = config;
export default {
  ...config,
  root: new URL("../../../..", import.meta.url).pathname,
  cacheDir: process.env.HOME,
  test: { ...test, maxWorkers: 1, globalSetup: process.env.OUTRIDER_FULL === "1" ? test?.globalSetup : [] },
};
