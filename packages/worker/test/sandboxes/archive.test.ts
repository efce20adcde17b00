import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { pack } from "../../src/sandboxes/files/archive.ts";

const log = { info() {}, warn() {}, error() {} };

test("a pack that fails before it is read rejects the later reader and does not crash", async () => {
  const packed = pack({
    run: () => Promise.reject(new Error("Not reached.")),
    folders: () => Promise.reject(new Error("The sandbox was killed.")),
    log,
    base: undefined,
  });
  await turn();
  await turn();
  await expect(packed.toArray()).rejects.toThrow("The sandbox was killed.");
});
