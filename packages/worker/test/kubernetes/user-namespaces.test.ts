import { expect, test } from "vitest";
import { hasOwnIds } from "../../src/sandboxes/kubernetes/user-namespaces.ts";

test.each([
  ["         0          0 4294967295\n", false],
  ["         0      65536      65536\n", true],
  ["", false],
])("a process with the ids %j has its own: %s", (uidMap, expected) => {
  expect(hasOwnIds(uidMap)).toBe(expected);
});
