import { describe, test } from "vitest";
import { canHaveIds, expectToPassAsOrdinaryUser } from "./ordinary-user.ts";
import { isRoot } from "./sandbox-support.ts";

/** Otherwise the tests themselves run as an ordinary user. */
describe.runIf(isRoot)("a worker of an ordinary user passes the core of the conformance suite", () => {
  test("with its own system", async () => {
    const files = [
      ...["sandboxes/files.test.ts", "sandboxes/limits.test.ts", "sandboxes/network.test.ts"],
      ...["escape/kernel.test.ts", "escape/neighbors.test.ts"],
    ];
    await expectToPassAsOrdinaryUser(files, { only: "^(?!.*local with an image)" });
  });

  test("with an image and one user id", async () => {
    const files = ["sandboxes/commands.test.ts", "escape/neighbors.test.ts"];
    const only = "(images|neighbors) \\(local with an image of one user";
    await expectToPassAsOrdinaryUser(files, { only });
  });

  test.runIf(canHaveIds)("with an image and the ids of /etc/subuid", async () => {
    const only = "images \\(local with an image\\)";
    await expectToPassAsOrdinaryUser(["sandboxes/commands.test.ts"], { ids: "one", only });
  });
});
