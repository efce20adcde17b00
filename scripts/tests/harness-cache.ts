/**
 * The folder with the agents that tests use, outside of the checkout, because they are large. scripts/setup fills it. If
 * root runs the tests, the accounts of sandboxes must be able to reach it, so it is not in root's home.
 */
import { homedir } from "node:os";
import { join } from "node:path";

const isRoot = process.getuid?.() === 0;
const caches = isRoot ? "/var/cache" : (process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"));

export const harnessCache =
  process.env.OUTRIDER_TEST_HARNESS_CACHE ?? join(caches, "outrider/test-harnesses");
