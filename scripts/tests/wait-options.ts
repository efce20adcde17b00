/**
 * How long tests wait for a condition. Long in CI, where the machine may stop for minutes. Shorter than the test timeout,
 * so that a failure names the condition.
 */
export const waitOptions = { timeout: process.env.CI ? 600_000 : 90_000, interval: 20 };
export const testTimeout = waitOptions.timeout + 150_000;
