import { testKills } from "./kill-suite.ts";

/** A few of the steps, so that the test is short. kill.full.test.ts has all of them. */
testKills([
  { point: "after the commits are reported", victim: "the worker", seed: 1 },
  { point: "after the push", victim: "the worker", seed: 2 },
  { point: "after the pull request is created", victim: "the server", seed: 3 },
]);
