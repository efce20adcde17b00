import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { architectureOf } from "../../src/images/manifest.ts";
import { silentLog } from "../../src/log.ts";
import { type Engine, openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { explainContainerEnd } from "../../src/sandboxes/docker/engine/container-end.ts";
import { describeCapabilities, describeEngine } from "../../src/sandboxes/docker/engine/describe.ts";
import { DockerImages } from "../../src/sandboxes/docker/images/docker-images.ts";
import { labelNames, sandboxLabels } from "../../src/sandboxes/docker/labels.ts";
import {
  listObjects,
  listSandboxObjects,
  removeSandboxObjects,
} from "../../src/sandboxes/docker/leftovers.ts";
import { LostWorkers } from "../../src/sandboxes/docker/lost-workers.ts";
import { Presence } from "../../src/sandboxes/docker/presence.ts";
import { readContainerFile } from "../../src/sandboxes/docker/volumes/archive.ts";
import { ensureBundleVolume } from "../../src/sandboxes/docker/volumes/bundle-volume.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { makeImage, push, startRegistry } from "../images/registry-server.ts";
import { busyboxLayer } from "../images/system-image.ts";
import { importBusybox, newOwner } from "./docker-support.ts";
import { canRunEngines, startPodman, type TestEngine } from "./test-engine.ts";

const { signal } = new AbortController();
/** As `htpasswd -nbB me secret` prints it. */
const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";

describe.skipIf(!canRunEngines)("Podman", () => {
  let server: TestEngine;
  let engine: Engine;
  beforeAll(async () => {
    server = await startPodman();
    engine = await openEngine({ host: server.host });
  });
  afterAll(() => server?.stop());

  it("is described with what it enforces", async () => {
    expect(await describeEngine(engine)).toMatchObject({ name: "podman", storageDriver: "overlay" });
    const image = await importBusybox(engine);
    const { capabilities } = await describeCapabilities(engine, {
      owner: newOwner(),
      image,
      hasSeccompProfile: true,
    });
    for (const name of ["memory", "cpus", "pids", "network", "seccomp", "freeze"] as const)
      expect([name, capabilities[name].enforced]).toEqual([name, true]);
    expect(capabilities.disk.enforced).toBe(false);
  });

  it("stores bundles in volumes", async () => {
    const owner = newOwner();
    const image = await importBusybox(engine);
    const folder = mkdtempSync(join(tmpdir(), "outrider-bundle-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "file"), "content");
    const options = { owner, image, bundle: { id: randomUUID(), folder } };
    const volumes = await Promise.all([1, 2, 3].map(() => ensureBundleVolume(engine.docker, options)));
    expect(new Set(volumes).size).toBe(1);
    const container = await engine.docker.createContainer({
      ...{ Image: image, Cmd: ["true"] },
      HostConfig: { NetworkMode: "none", Binds: [`${volumes[0]}:/mnt`] },
    });
    const content = await readContainerFile(engine.docker, container.id, "/mnt/file", 100);
    await container.remove();
    expect(content?.toString()).toBe("content");
  });

  it("pulls images only for those who use the same secret, and removes them to free space", async () => {
    const layer = busyboxLayer();
    if (!layer) throw new Error("busybox is missing");
    const folder = mkdtempSync(join(tmpdir(), "outrider-pulls-"));
    const registry = await startRegistry({ htpasswd });
    onTestFinished(async () => {
      await registry.close();
      rmSync(folder, { recursive: true, force: true });
    });
    registry.headers = { authorization: `Basic ${Buffer.from("me:secret").toString("base64")}` };
    const imagesOptions = {
      ...{ engine, owner: newOwner(), folder, exceptions: parseExceptions("127.0.0.1") },
      ...{ ids: { enforced: false as const, reason: "test" }, architecture: architectureOf() },
      ...{ maxBytes: 0, log: silentLog },
    };
    const images = new DockerImages(imagesOptions);
    const image = makeImage({ layers: [layer], config: { User: "1000", Env: ["A=b"] } });
    const reference = await push(registry, "acme/app:1", image);
    const options = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    await expect(images.resolve(reference, { signal })).rejects.toMatchObject({ code: "unauthorized" });
    const digest = await images.resolve(reference, options);
    expect(digest).toBe(image.digest);
    expect(await images.pull({ reference, digest }, options)).toMatchObject({
      user: "1000",
      env: { A: "b" },
    });
    await expect(images.pull({ reference, digest }, { signal })).rejects.toMatchObject({
      code: "unauthorized",
    });
    await expect(images.resolve(`${registry.host}/acme/none:1`, options)).rejects.toMatchObject({
      code: "not_found",
    });
    const tags = async () => (await engine.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(await tags()).toContain(reference);
    await new DockerImages({ ...imagesOptions, minUnusedMs: 0 }).reap();
    expect(await tags()).not.toContain(reference);
  });

  it("makes the system image", async () => {
    const owner = newOwner();
    const image = await ensureSystemImage(engine, { owner });
    expect(await ensureSystemImage(engine, { owner })).toBe(image);
  });

  it("keeps the objects of a lost worker until its containers have ended", async () => {
    const [owner, other] = [newOwner(), newOwner()];
    const image = await importBusybox(engine);
    const { docker } = engine;
    const labels = sandboxLabels(owner, { kind: "commands", sandbox: "one" });
    const volume = `outrider-test-${owner.installation}`;
    await docker.createVolume({ Name: volume, Labels: labels });
    const container = await docker.createContainer({
      ...{ Image: image, Cmd: ["sleep", "1000000"], Labels: labels },
      HostConfig: { NetworkMode: "none", Binds: [`${volume}:/workspace`] },
    });
    await container.start();
    await new Presence(docker, owner).refresh();
    const watcher = { ...other, installation: owner.installation };
    const presence = new Presence(docker, watcher);
    // The engine tells times in seconds, and a second may not have passed.
    const lost = new LostWorkers({ docker, owner: watcher, log: silentLog, lostMs: -1, rounds: 0 });
    const removeLost = async () => {
      await presence.refresh();
      return await lost.remove();
    };
    expect(await removeLost()).toEqual([]);
    await container.kill();
    await container.wait();
    expect(await removeLost()).toEqual([owner.worker]);
    const left = await listObjects(docker, { [labelNames.installation]: owner.installation });
    expect(left.map((object) => object.labels[labelNames.worker])).toEqual([watcher.worker]);
  });

  it("has objects that are found by label after it was killed", async () => {
    const owner = newOwner();
    const image = await importBusybox(engine);
    const labels = sandboxLabels(owner, { kind: "commands", sandbox: "one", label: { run_id: "1" } });
    const container = await engine.docker.createContainer({
      ...{ Image: image, Cmd: ["sleep", "1000000"], Labels: labels, HostConfig: { NetworkMode: "none" } },
    });
    await container.start();
    await engine.docker.createVolume({ Name: `outrider-test-${owner.installation}`, Labels: labels });
    await server.kill();
    await server.start();
    const [objects] = await listSandboxObjects(engine.docker, owner);
    expect([objects?.containers.length, objects?.volumes.length, objects?.label]).toEqual([
      ...[1, 1, { run_id: "1" }],
    ]);
    if (objects) await removeSandboxObjects(engine.docker, objects);
    expect(await listSandboxObjects(engine.docker, owner)).toEqual([]);
    const { message } = await explainContainerEnd(engine.docker, container.id);
    expect(message).toContain("Somebody removed the container");
  });
});
