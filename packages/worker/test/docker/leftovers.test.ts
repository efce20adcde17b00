import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames, sandboxLabels } from "../../src/sandboxes/docker/labels.ts";
import {
  listSandboxObjects,
  removeSandboxObjects,
  removeUnusedShared,
} from "../../src/sandboxes/docker/leftovers.ts";
import { ensureBundleVolume } from "../../src/sandboxes/docker/volumes/bundle-volume.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import { importBusybox, importEmptyImage, newOwner, openSharedEngine } from "./docker-support.ts";
import { canRunEngines, startDocker } from "./test-engine.ts";

async function startSandbox(
  { docker }: Engine,
  owner: Owner,
  { sandbox, image }: { sandbox: string; image: string },
): Promise<void> {
  const labels = (kind: string) =>
    sandboxLabels(owner, { kind, sandbox, label: { run_id: `run-${sandbox}` } });
  const volume = `outrider-test-${owner.installation}-${sandbox}`;
  await docker.createVolume({ Name: volume, Labels: labels("workspace") });
  const container = await docker.createContainer({
    ...{ Image: image, Cmd: ["sleep", "1000000"], Labels: labels("commands"), StopSignal: "SIGKILL" },
    HostConfig: { NetworkMode: "none", Binds: [`${volume}:/workspace`] },
  });
  await container.start();
  const changes = Object.entries(labels("image")).map(
    ([key, value]) => `LABEL ${key}=${JSON.stringify(value)}`,
  );
  await container.commit({ repo: volume, changes: changes.join("\n") });
}

async function countObjects({ docker }: Engine, { installation }: Owner): Promise<number> {
  const filters = JSON.stringify(labelFilters({ [labelNames.installation]: installation }));
  const [containers, { Volumes }, images] = await Promise.all([
    docker.listContainers({ all: true, filters }),
    docker.listVolumes({ filters }),
    docker.listImages({ filters }),
  ]);
  return containers.length + (Volumes ?? []).length + images.length;
}

describe.skipIf(!canRunEngines)("leftovers", () => {
  it.runIf(existsSync("/usr/bin/busybox"))("are found and removed after the engine was killed", async () => {
    const server = await startDocker();
    onTestFinished(() => server.stop());
    const engine = await openEngine({ host: server.host });
    const owner = newOwner();
    const other = { ...owner, worker: "worker-2" };
    const image = await importBusybox(engine);
    await startSandbox(engine, owner, { sandbox: "one", image });
    await startSandbox(engine, owner, { sandbox: "two", image });
    await startSandbox(engine, other, { sandbox: "three", image });
    await server.kill();
    await server.start();
    const found = await listSandboxObjects(engine.docker, owner);
    expect(found.map(({ sandbox, label }) => [sandbox, label.run_id]).sort()).toEqual([
      ["one", "run-one"],
      ["two", "run-two"],
    ]);
    for (const objects of found) await removeSandboxObjects(engine.docker, objects);
    expect(await listSandboxObjects(engine.docker, owner)).toEqual([]);
    const [rest] = await listSandboxObjects(engine.docker, other);
    expect([rest?.containers.length, rest?.volumes.length, rest?.images.length]).toEqual([1, 1, 1]);
    expect(await countObjects(engine, owner)).toBe(3);
  });

  it("are shared objects that nobody has used for long, but not those in use", async () => {
    const engine = await openSharedEngine();
    const owner = newOwner();
    const image = await importEmptyImage(engine);
    const folder = mkdtempSync(join(tmpdir(), "outrider-bundle-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "file"), "");
    const ensure = (id: string) =>
      ensureBundleVolume(engine.docker, { owner, image, bundle: { id, folder } });
    const [old, used, mounted] = [await ensure("old"), await ensure("used"), await ensure("mounted")];
    const container = await engine.docker.createContainer({
      ...{ Image: image, Cmd: ["true"], HostConfig: { NetworkMode: "none", Binds: [`${mounted}:/mnt`] } },
    });
    onTestFinished(() => container.remove());
    const options = { inUse: new Set([used]), unusedMs: 7 * 86_400_000 };
    expect(await removeUnusedShared(engine.docker, owner, options)).toEqual([]);
    const later = { ...options, now: Date.now() + 8 * 86_400_000 };
    expect(await removeUnusedShared(engine.docker, owner, later)).toContain(old);
    expect([await ensure("used"), await ensure("mounted")]).toEqual([used, mounted]);
    expect(await ensure("old")).not.toBe(old);
  });
});
