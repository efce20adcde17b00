import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type Docker from "dockerode";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { removeFolder } from "../../src/remove-folder.ts";
import { DockerBases } from "../../src/sandboxes/docker/bases/docker-bases.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import type { Engine } from "../../src/sandboxes/docker/engine/connect.ts";
import { sandboxLabels } from "../../src/sandboxes/docker/labels.ts";
import { listObjects, removeUnusedShared } from "../../src/sandboxes/docker/leftovers.ts";
import { LostWorkers } from "../../src/sandboxes/docker/lost-workers.ts";
import { Presence } from "../../src/sandboxes/docker/presence.ts";
import { BundleVolumes } from "../../src/sandboxes/docker/volumes/bundle-volumes.ts";
import { ensureSystemImage } from "../../src/sandboxes/docker/volumes/system-image.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import { inMs, makeRoot, run, silent, until } from "../sandboxes/sandbox-support.ts";
import { importBusybox, importEmptyImage, newOwner, openSharedEngine } from "./docker-support.ts";
import { sharedDocker } from "./shared-docker.ts";
import { canRunEngines } from "./test-engine.ts";

describe.skipIf(!canRunEngines)("a worker of the same installation", () => {
  let engine: Engine;
  let docker: Docker;
  let image: string;
  beforeAll(async () => {
    engine = await openSharedEngine();
    docker = engine.docker;
    image = await importBusybox(engine);
  });

  /** Creates what a sandbox has, with a container that runs the command. */
  async function startSandbox(owner: Owner, command: string): Promise<Docker.Container> {
    const labels = sandboxLabels(owner, { kind: "sandbox", sandbox: randomUUID(), label: { run_id: "run" } });
    const volume = `outrider-test-${randomUUID()}`;
    await docker.createVolume({ Name: volume, Labels: labels });
    const container = await docker.createContainer({
      ...{ Image: image, Cmd: ["sh", "-c", command], Labels: labels, StopSignal: "SIGKILL" },
      HostConfig: { NetworkMode: "none", Binds: [`${volume}:/workspace`] },
    });
    onTestFinished(() => container.remove({ force: true }).catch(() => {}));
    await container.start();
    const changes = Object.entries(labels).map(([key, value]) => `LABEL ${key}=${JSON.stringify(value)}`);
    await container.commit({ changes: changes.join("\n") });
    return container;
  }

  async function typesOf({ installation, worker }: Owner): Promise<string[]> {
    const labels = { "outrider.installation": installation, "outrider.worker": worker };
    return (await listObjects(docker, labels)).map(({ type }) => type).sort();
  }

  /** Another worker, for which all others are lost that have created nothing since its start. */
  async function startWatcher(installation: string, { rounds = 0 } = {}) {
    const owner = { ...newOwner(), installation };
    const presence = new Presence(docker, owner);
    const lost = new LostWorkers({ docker, owner, log: silent, lostMs: 0, rounds });
    const created = Date.now();
    // The engine tells times in seconds.
    await until(() => Math.floor(Date.now() / 1_000) > Math.floor(created / 1_000));
    return async () => {
      await presence.refresh();
      return await lost.remove();
    };
  }

  it("removes all objects of a lost worker and its isolated runs, after their containers have ended", async () => {
    const owner = newOwner();
    const isolated = { ...owner, worker: `${owner.worker}.1` };
    await new Presence(docker, owner).refresh();
    const running = await startSandbox(owner, "sleep 100000");
    const ended = await startSandbox(isolated, "true");
    await ended.wait();
    const stranger = { ...newOwner(), worker: randomUUID() };
    await (await startSandbox(stranger, "true")).wait();
    const everything = ["containers", "images", "volumes"];
    const removeLost = await startWatcher(owner.installation);
    expect(await removeLost()).toEqual([]);
    expect(await typesOf(owner)).toEqual([...everything, "volumes"]);
    expect(await typesOf(isolated)).toEqual(everything);
    await running.kill();
    await running.wait();
    expect(await removeLost()).toEqual([owner.worker]);
    expect([...(await typesOf(owner)), ...(await typesOf(isolated))]).toEqual([]);
    expect(await typesOf(stranger)).toEqual(everything);
    expect(await removeLost()).toEqual([]);
  });

  it("keeps the objects of workers that were there in the last rounds, or that it has not watched for long", async () => {
    const owner = newOwner();
    const presence = new Presence(docker, owner);
    await presence.refresh();
    await (await startSandbox(owner, "true")).wait();
    const removeLost = await startWatcher(owner.installation, { rounds: 2 });
    expect([await removeLost(), await removeLost()]).toEqual([[], []]);
    const before = Math.floor(Date.now() / 1_000);
    await until(() => Math.floor(Date.now() / 1_000) > before);
    await presence.refresh();
    const after = Math.floor(Date.now() / 1_000);
    await until(() => Math.floor(Date.now() / 1_000) > after);
    // The worker is there again, so the rounds begin again.
    expect([await removeLost(), await removeLost()]).toEqual([[], []]);
    expect(await removeLost()).toEqual([owner.worker]);
  });

  it("keeps everything of workers that were there less than a day ago", async () => {
    const owner = newOwner();
    await (await startSandbox(owner, "true")).wait();
    const other = { ...newOwner(), installation: owner.installation };
    const lost = new LostWorkers({ docker, owner: other, log: silent, rounds: 0 });
    await new Presence(docker, other).refresh();
    expect(await lost.remove()).toEqual([]);
    expect(await typesOf(owner)).toEqual(["containers", "images", "volumes"]);
  });

  it("keeps shared objects that another worker has announced to use", async () => {
    const [one, empty] = [newOwner(), await importEmptyImage(engine)];
    const two = { ...newOwner(), installation: one.installation };
    const folder = mkdtempSync(join(tmpdir(), "outrider-bundle-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "file"), "");
    const volumesOf = (owner: Owner) =>
      new BundleVolumes({ docker, owner, image: empty, presence: new Presence(docker, owner) });
    const bundle = { id: randomUUID(), folder, target: "/opt" };
    const volumes = volumesOf(two);
    const used = await volumes.get(bundle);
    const unused = await volumesOf(two).get({ ...bundle, id: randomUUID() });
    const options = { inUse: new Set<string>(), unusedMs: 0, now: Date.now() + 60_000 };
    // The second process of the worker speaks for the first too, until the worker starts again.
    expect(await removeUnusedShared(docker, one, options)).toEqual([]);
    const presence = new Presence(docker, two);
    await presence.announceUse(used);
    await presence.removeEarlier();
    expect(await removeUnusedShared(docker, one, options)).toContain(unused);
    expect(await volumes.get(bundle)).toBe(used);
  });
});

describe.skipIf(!canRunEngines)("a worker of Docker", () => {
  const start = async (owner: Owner, root = makeRoot().root) => {
    onTestFinished(() => removeFolder(dirname(root)));
    const engine = await openSharedEngine();
    const systemImage = await ensureSystemImage(engine, { owner: { installation: "test-conformance" } });
    const docker = { engine: { host: await sharedDocker() }, systemImage, owner };
    const provider = await openDockerProvider({ root, docker, log: silent });
    onTestFinished(() => provider.stop());
    return { ...engine, provider, root, systemImage };
  };
  const presencesOf = async (docker: Docker, { worker }: Owner) =>
    (await listObjects(docker, { "outrider.worker": worker, "outrider.kind": "presence" })).map(
      ({ id, labels }) => ({ id, uses: JSON.parse(labels["outrider.uses"] ?? "") as string[] }),
    );

  it("says that it is there and what it uses, again in each round and after a restart", async () => {
    const owner = newOwner();
    const { docker, provider, root, systemImage } = await start(owner);
    const [first, ...others] = await presencesOf(docker, owner);
    expect(others).toEqual([]);
    expect(first?.uses).toEqual([systemImage, expect.stringContaining("-bundle-")]);
    await provider.removeFinished?.();
    const [second] = await presencesOf(docker, owner);
    expect(second).toEqual({ id: expect.not.stringMatching(first?.id ?? ""), uses: first?.uses });
    await provider.stop();
    await start(owner, root);
    expect(await presencesOf(docker, owner)).toHaveLength(1);
  });

  it("forgets bases whose volumes were removed, but not others", async () => {
    const owner = newOwner();
    const { docker, provider, root } = await start(owner);
    for (const name of ["gone", "kept"]) {
      const sandbox = await provider.open({ id: name, deadline: inMs(600_000), label: {} });
      await run(sandbox, "echo file > file");
      await provider.saveBase(sandbox, name);
    }
    await provider.removeFinished?.();
    expect(
      provider
        .listBases()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(["gone", "kept"]);
    const { objects } = new DockerBases(root).acquire("gone");
    for (const { volume } of Object.values(objects.folders)) await docker.getVolume(volume).remove();
    await provider.removeFinished?.();
    expect(provider.listBases().map(({ name }) => name)).toEqual(["kept"]);
    const sandbox = await provider.open({ id: "of-base", deadline: inMs(600_000), label: {}, base: "kept" });
    expect((await run(sandbox, "cat file")).stdout).toBe("file\n");
    await sandbox.close();
    await provider.removeBase("kept");
  });
});
