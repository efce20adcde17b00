import { test } from "vitest";
import { expectToPassAsOrdinaryUser } from "./ordinary-user.ts";
import { isRoot } from "./sandbox-support.ts";

/** Otherwise the tests themselves run as an ordinary user. */
test.runIf(isRoot)("a worker of an ordinary user passes the core of the conformance suite", async () => {
  await expectToPassAsOrdinaryUser([
    ...["sandboxes/files.test.ts", "sandboxes/limits.test.ts", "sandboxes/network.test.ts"],
    ...["escape/kernel.test.ts", "escape/neighbors.test.ts"],
  ]);
});
