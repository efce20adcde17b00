import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { runTool } from "../../src/sandboxes/docker/containers/run-tool.ts";
import { scriptLimits } from "../../src/sandboxes/docker/containers/script-limits.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { describeCapabilities } from "../../src/sandboxes/docker/engine/describe.ts";
import { labelFilters, labelNames, sharedLabels } from "../../src/sandboxes/docker/labels.ts";
import { defaultLimits } from "../../src/sandboxes/limits.ts";
import type { SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { importBusybox, newOwner, openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

test("the limits of scripts are never higher than those of commands", () => {
  expect(scriptLimits({})).toEqual({});
  expect(scriptLimits({ memory_mb: 100, pids: 20, cpus: 0.5 })).toEqual({
    ...{ memory_mb: 100, pids: 20, cpus: 0.5 },
  });
  expect(scriptLimits({ memory_mb: 4096, pids: 4096, cpus: 8, disk_mb: 1 })).toEqual({
    ...{ memory_mb: 1024, pids: 512, cpus: 1, disk_mb: 1 },
  });
  expect(scriptLimits({ memory_mb: 16_384 })).toEqual({ memory_mb: 4096 });
});

describe.skipIf(!canRunEngines)("the containers of a sandbox", () => {
  const { root } = makeRoot();
  let provider: SandboxProvider;
  beforeAll(async () => {
    const engine = { host: await sharedDocker() };
    provider = await openDockerProvider({ root, log: silent, docker: { engine } });
  });
  afterAll(async () => {
    await provider?.stop();
    await removeFolder(dirname(root));
  });

  test("have the sandbox's limits for commands, and lower ones for scripts", async () => {
    const limits = { memory_mb: 2048, pids: 1000, cpus: 2 };
    const sandbox = await provider.open({ id: randomUUID(), deadline: inMs(600_000), label: {}, limits });
    await run(sandbox, "echo content > file");
    await sandbox.read("file", 100);
    await sandbox.fingerprint({ signal: new AbortController().signal });
    const { docker } = await openSharedEngine();
    const filters = JSON.stringify(labelFilters({ [labelNames.sandbox]: sandbox.id }));
    const found = await docker.listContainers({ all: true, filters });
    const all = await Promise.all(
      found.map(async ({ Id }) => {
        const { Name, HostConfig } = await docker.getContainer(Id).inspect();
        const { Memory, PidsLimit, CpuQuota } = HostConfig;
        return [Name.split("-").at(-1), { Memory, PidsLimit, CpuQuota }];
      }),
    );
    expect(Object.fromEntries(all)).toEqual({
      commands: { Memory: 2048 * 2 ** 20, PidsLimit: 1000, CpuQuota: 200_000 },
      scripts: { Memory: 1024 * 2 ** 20, PidsLimit: 512, CpuQuota: 100_000 },
    });
    await sandbox.close();
  });

  test("have limits too when the worker copies and measures files", async () => {
    const engine = await openSharedEngine();
    const systemImage = await importBusybox(engine);
    const { capabilities } = await describeCapabilities(engine, {
      owner: newOwner(),
      ...{ image: systemImage, hasSeccompProfile: true },
    });
    const resources = { docker: engine.docker, systemImage, runtime: undefined, capabilities, defaultLimits };
    const labels = sharedLabels(newOwner(), { kind: "test", content: "" });
    // The first file is that of control groups of version 1, the other one that of version 2.
    const script = "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max; true";
    const output = await runTool(resources, { argv: ["/bin/sh", "-c", script], volumes: {}, labels });
    expect(Number(output)).toBe((scriptLimits(defaultLimits).memory_mb ?? 0) * 2 ** 20);
  });
});
