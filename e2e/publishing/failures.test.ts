import { testFailures } from "./failures-suite.ts";

/** The most frequent ones. failures.full.test.ts has all of them. */
testFailures([
  "the forge is down before the push and comes back",
  "the base has moved with a conflict",
  "the token is revoked",
]);
