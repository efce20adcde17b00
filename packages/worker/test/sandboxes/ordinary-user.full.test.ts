import { test } from "vitest";
import { expectToPassAsOrdinaryUser } from "./ordinary-user.ts";
import { isRoot } from "./sandbox-support.ts";

test.runIf(isRoot)(
  "a worker of an ordinary user passes the conformance suite, and the tests of the local provider",
  { timeout: 1_800_000 },
  async () => {
    const sandboxes = ["bases", "commands", "files", "init", "leaks", "limits", "network", "sandbox"];
    const escapes = ["files", "kernel", "layers", "neighbors", "network", "processes"];
    await expectToPassAsOrdinaryUser(
      [
        ...[...sandboxes, "seccomp", "watchdog"].map((name) => `sandboxes/${name}.test.ts`),
        ...escapes.map((name) => `escape/${name}.test.ts`),
      ],
      { full: true },
    );
  },
);
