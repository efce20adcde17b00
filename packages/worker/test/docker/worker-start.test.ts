import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry } from "../../src/sandboxes/docker/bases/system-layer.ts";
import { readProgress } from "../../src/sandboxes/docker/engine/progress.ts";
import { labelFilters, labelNames, sandboxLabels, sharedLabels } from "../../src/sandboxes/docker/labels.ts";
import { ensureSystemImage, systemImageKind } from "../../src/sandboxes/docker/volumes/system-image.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import { startTestInstallation } from "../installation.ts";
import { openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

type SharedEngine = Awaited<ReturnType<typeof openSharedEngine>>;

/** Loads an image as a worker with other programs has made it at that time. */
async function loadSystemImage({ docker }: SharedEngine, owner: Owner, created: string): Promise<void> {
  const layer = Buffer.concat([entry("file", randomUUID()), Buffer.alloc(1024)]);
  const hashOf = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  const config = JSON.stringify({
    ...{ architecture: "amd64", os: "linux", created },
    config: { Labels: sharedLabels(owner, { kind: systemImageKind, content: hashOf(layer) }) },
    rootfs: { type: "layers", diff_ids: [`sha256:${hashOf(layer)}`] },
  });
  const name = `${hashOf(config)}.json`;
  const manifest = JSON.stringify([{ Config: name, RepoTags: null, Layers: ["layer.tar"] }]);
  const parts = [
    ...[entry(name, config), entry("manifest.json", manifest), entry("layer.tar", layer.toString("latin1"))],
    Buffer.alloc(1024),
  ];
  await readProgress(await docker.loadImage(Readable.from([Buffer.concat(parts)])));
}

describe.skipIf(!canRunEngines)("a worker that starts", () => {
  it("removes what an earlier worker left behind, and images that no worker has used for long", async () => {
    const installation = await startTestInstallation();
    onTestFinished(() => installation.stop());
    const engine = await openSharedEngine();
    const { docker } = engine;
    const owner: Owner = { installation: `test-${randomUUID()}`, worker: randomUUID() };
    const folder = join(installation.workersFolder, "first");
    mkdirSync(join(folder, "sandboxes"), { recursive: true, mode: 0o711 });
    writeFileSync(join(folder, "sandboxes", ".docker-owner"), JSON.stringify(owner));
    await loadSystemImage(engine, owner, "2020-01-01T00:00:00Z");
    await loadSystemImage(engine, owner, new Date().toISOString());
    const volumes = [owner, { ...owner, worker: "another" }].map((of) => ({
      Name: `outrider-test-${randomUUID()}`,
      Labels: sandboxLabels(of, { kind: "volume", sandbox: "left" }),
    }));
    for (const volume of volumes) await docker.createVolume(volume);
    const systemImage = await ensureSystemImage(engine, { owner: { installation: "test-conformance" } });

    const filters = JSON.stringify(labelFilters({ [labelNames.installation]: owner.installation }));
    const find = async () => ({
      images: (await docker.listImages({ filters })).map(({ Created }) => new Date(Created * 1_000)),
      volumes: (await docker.listVolumes({ filters })).Volumes.map(({ Name }) => Name),
    });
    expect((await find()).images).toHaveLength(2);
    const options = ["--sandbox", "docker", "--docker-host", await sharedDocker()];
    await installation.workerProcess(
      ...(["first", ...options, "--docker-system-image", systemImage, "--data-dir", folder] as const),
    );
    const { images, volumes: left } = await find();
    expect(images.map((date) => date.getFullYear())).toEqual([new Date().getFullYear()]);
    expect(left).not.toContain(volumes[0]?.Name);
    expect(left).toContain(volumes[1]?.Name);

    // The server has told the installation.
    const [fact] = await installation.db`select value from installation where name = 'installation_id'`;
    const stored = JSON.parse(readFileSync(join(folder, "sandboxes", ".docker-owner"), "utf8"));
    expect(stored).toEqual({
      ...{ installation: fact?.value, worker: owner.worker },
      formerInstallations: [owner.installation],
    });
    const { Volumes: own } = await docker.listVolumes({
      filters: JSON.stringify(labelFilters({ [labelNames.installation]: fact?.value })),
    });
    expect(own.map(({ Labels }) => Labels[labelNames.worker])).toContain(owner.worker);
  });
});
