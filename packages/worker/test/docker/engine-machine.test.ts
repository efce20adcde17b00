import { dirname } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { programArchitecture } from "../../src/sandboxes/files/programs.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { newOwner, openSharedEngine } from "./docker-support.ts";
import { startEngineProxy } from "./engine-proxy.ts";
import { canRunEngines } from "./test-engine.ts";

async function openProvider(claims: Record<string, object>) {
  const { root } = makeRoot();
  onTestFinished(() => removeFolder(dirname(root)));
  const systemImage = await ensureSystemImage(await openSharedEngine(), {
    owner: { installation: "test-conformance" },
  });
  const engine = { host: await startEngineProxy({ claims }) };
  return await openDockerProvider({ root, log: silent, docker: { engine, owner: newOwner(), systemImage } });
}

describe.skipIf(!canRunEngines)("the machine of an engine", () => {
  it("must have the architecture of the worker's programs", async () => {
    const own = programArchitecture();
    const { docker } = await openSharedEngine();
    expect(own).toBe((await docker.version()).Arch);
    const other = own === "arm64" ? "amd64" : "arm64";
    await expect(openProvider({ "/version": { Arch: other } })).rejects.toThrow(
      `The container engine runs on ${other}, but this worker's programs are for ${own}. Use an engine on a machine with ${own}, or run the worker on a machine with ${other}.`,
    );
  });

  it("has the memory that sandboxes without a limit share, whatever the worker's machine has", async () => {
    const provider = await openProvider({ "/info": { MemTotal: 2 ** 30 } });
    onTestFinished(() => provider.stop());
    const sandbox = await provider.open({ id: "small", deadline: inMs(600_000), label: {} });
    onTestFinished(() => sandbox.close());
    expect(sandbox.enforced.memory).toMatchObject({ enforced: true, limit: 512 });
    const script = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
    expect((await run(sandbox, script)).stdout).toBe(`${512 * 2 ** 20}\n`);
  });
});
