import { describe, expect, it } from "vitest";
import { describeCapabilities, describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { importEmptyImage, openSharedEngine } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("the description of Docker", () => {
  it("has its version and what it runs on", async () => {
    const description = await describeEngine(await openSharedEngine());
    expect(description).toMatchObject({
      ...{ name: "docker", storageDriver: "overlay2", cgroupDriver: "cgroupfs", userNamespace: "none" },
      ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+/), apiVersion: expect.stringMatching(/^1\.\d+$/) },
      runtimes: expect.arrayContaining(["runc"]),
    });
  });

  it("says what it enforces, and why not", async () => {
    const engine = await openSharedEngine();
    const image = await importEmptyImage(engine);
    const { capabilities, ids } = await describeCapabilities(engine, { image, hasSeccompProfile: true });
    const groups = { enforced: true, by: expect.stringMatching(/^cgroup v\d, Docker \d+/) };
    expect(capabilities).toEqual({
      ...{ memory: groups, cpus: groups, pids: groups },
      freeze: { enforced: true, by: "the container's first process" },
      network: { enforced: true, by: "a network namespace" },
      seccomp: { enforced: true, by: "seccomp" },
      disk: {
        enforced: false,
        reason: expect.stringMatching(/^Docker \S+ cannot limit disk space.*pquota\)\.$/),
      },
    });
    expect(ids).toEqual({ enforced: false, reason: expect.stringContaining("userns-remap") });
    const gvisor = await describeCapabilities(engine, { image, hasSeccompProfile: false, runtime: "runsc" });
    expect(gvisor.capabilities.seccomp).toEqual({ enforced: true, by: "the kernel of runsc" });
  });
});
