import { describe, test } from "vitest";
import { canHaveIds, expectToPassAsOrdinaryUser } from "./ordinary-user.ts";
import { isRoot } from "./sandbox-support.ts";

const timeout = 1_800_000;
const suite = [
  ...["commands", "files", "limits", "network", "sandbox"].map((name) => `sandboxes/${name}.test.ts`),
  ...["files", "image", "kernel", "neighbors", "network", "processes"].map(
    (name) => `escape/${name}.test.ts`,
  ),
];

describe.runIf(isRoot)("a worker of an ordinary user", () => {
  test("passes the conformance suite with and without an image, and the tests of the local provider", {
    timeout,
  }, async () => {
    const others = ["bases", "init", "leaks", "seccomp", "watchdog"];
    const files = [...suite, ...others.map((name) => `sandboxes/${name}.test.ts`), "escape/layers.test.ts"];
    await expectToPassAsOrdinaryUser(files, { full: true });
  });

  test.runIf(canHaveIds)("passes it with an image and the ids of /etc/subuid", { timeout }, async () => {
    await expectToPassAsOrdinaryUser(suite, { full: true, ids: "one", only: "local with an image" });
  });
});
