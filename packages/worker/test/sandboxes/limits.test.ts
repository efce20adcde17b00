import { describe, expect, test } from "vitest";
import {
  type Capabilities,
  defaultLimits,
  LimitNotEnforceableError,
  resolveLimits,
} from "../../src/sandboxes/limits.ts";
import { testLimits } from "../conformance/limits.ts";
import { localPlaces } from "./local-places.ts";

for (const place of localPlaces) testLimits(place);

describe("the limits of a sandbox", () => {
  test("reject a sandbox if a requested limit cannot be enforced, but not if a default cannot", () => {
    const notEnforced = { enforced: false, reason: "Why: do this." } as const;
    const enforced = { enforced: true, by: "x" } as const;
    const capabilities: Capabilities = {
      ...{
        memory: notEnforced,
        cpus: enforced,
        pids: enforced,
        disk: notEnforced,
        network: enforced,
        seccomp: enforced,
        freeze: notEnforced,
      },
    };
    expect(resolveLimits({}, capabilities)).toEqual({ pids: defaultLimits.pids });
    expect(resolveLimits({ cpus: 2, pids: 10 }, capabilities)).toEqual({ cpus: 2, pids: 10 });
    expect(() => resolveLimits({ memory_mb: 100 }, capabilities)).toThrow(
      new LimitNotEnforceableError("memory_mb", "Why: do this."),
    );
    expect(() => resolveLimits({ disk_mb: 100 }, capabilities)).toThrow(
      "limits.disk_mb cannot be enforced on this worker",
    );
  });
});
