import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../../src/sandboxes/docker/engine/connect.ts";
import { labelFilters, labelNames } from "../../src/sandboxes/docker/labels.ts";
import { readContainerFile } from "../../src/sandboxes/docker/volumes/archive.ts";
import { bundleKind, ensureBundleVolume } from "../../src/sandboxes/docker/volumes/bundle-volume.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import { importEmptyImage, newOwner, openSharedEngine } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("a volume with a bundle", () => {
  let engine: Engine;
  let docker: Docker;
  let image: string;
  beforeAll(async () => {
    engine = await openSharedEngine();
    docker = engine.docker;
    image = await importEmptyImage(engine);
  });

  const longName = `${"folder/".repeat(20)}file`;

  function makeBundle(): { id: string; folder: string } {
    const folder = mkdtempSync(join(tmpdir(), "outrider-bundle-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, "folder/".repeat(20)), { recursive: true });
    writeFileSync(join(folder, longName), "long");
    writeFileSync(join(folder, "program"), "x".repeat(100_000), { mode: 0o755 });
    writeFileSync(join(folder, "ünïcode"), "");
    symlinkSync("program", join(folder, "link"));
    return { id: folder, folder };
  }

  async function readFromVolume(volume: string, path: string): Promise<Buffer | undefined> {
    const container = await docker.createContainer({
      ...{ Image: image, Cmd: ["true"] },
      HostConfig: { NetworkMode: "none", Binds: [`${volume}:/mnt`] },
    });
    try {
      return await readContainerFile(docker, container.id, `/mnt/${path}`, 2 ** 20);
    } finally {
      await container.remove();
    }
  }

  async function listVolumes({ installation }: Owner, kind?: string): Promise<string[]> {
    const filters = labelFilters({
      [labelNames.installation]: installation,
      ...(kind ? { [labelNames.kind]: kind } : {}),
    });
    const { Volumes } = await docker.listVolumes({ filters: JSON.stringify(filters) });
    return (Volumes ?? []).map(({ Name }) => Name);
  }

  it("contains the files, and is filled only once", async () => {
    const [owner, bundle] = [newOwner(), makeBundle()];
    const volume = await ensureBundleVolume(docker, { owner, image, bundle });
    expect((await readFromVolume(volume, "program"))?.length).toBe(100_000);
    expect((await readFromVolume(volume, longName))?.toString()).toBe("long");
    expect((await readFromVolume(volume, "ünïcode"))?.length).toBe(0);
    expect(await readFromVolume(volume, "link")).toBeUndefined();
    rmSync(bundle.folder, { recursive: true });
    expect(await ensureBundleVolume(docker, { owner, image, bundle })).toBe(volume);
  });

  it("is the same for workers that fill it at the same time", async () => {
    const [owner, bundle] = [newOwner(), makeBundle()];
    const volumes = await Promise.all(
      Array.from({ length: 4 }, () => ensureBundleVolume(docker, { owner, image, bundle })),
    );
    expect(new Set(volumes).size).toBe(1);
    expect(await listVolumes(owner, bundleKind)).toEqual([volumes[0]]);
    expect((await readFromVolume(volumes[0] as string, "program"))?.length).toBe(100_000);
  });

  it("is not used if its filling was interrupted", async () => {
    const [owner, bundle] = [newOwner(), makeBundle()];
    const broken = { ...bundle, folder: join(bundle.folder, "missing") };
    await expect(ensureBundleVolume(docker, { owner, image, bundle: broken })).rejects.toThrow(/ENOENT/);
    expect(await listVolumes(owner)).toEqual([]);
    const volume = await ensureBundleVolume(docker, { owner, image, bundle });
    expect((await readFromVolume(volume, longName))?.toString()).toBe("long");
  });

  it("is filled again after somebody has removed it", async () => {
    const [owner, bundle] = [newOwner(), makeBundle()];
    const first = await ensureBundleVolume(docker, { owner, image, bundle });
    await docker.getVolume(first).remove();
    const second = await ensureBundleVolume(docker, { owner, image, bundle });
    expect(second).not.toBe(first);
    expect((await readFromVolume(second, longName))?.toString()).toBe("long");
  });
});
