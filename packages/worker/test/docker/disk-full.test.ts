import { randomUUID } from "node:crypto";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { removeFolder } from "../../src/remove-folder.ts";
import { openDockerProvider } from "../../src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../src/sandboxes/docker/engine/connect.ts";
import { readProgress } from "../../src/sandboxes/docker/engine/progress.ts";
import type { Owner } from "../../src/sandboxes/owner.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { systemLayer } from "../images/system-image.ts";
import { inMs, makeRoot, run, silent } from "../sandboxes/sandbox-support.ts";
import { leftoversOf } from "./engine-places.ts";
import { canRunEngines, startDocker, type TestEngine } from "./test-engine.ts";

const { signal } = new AbortController();
const diskFull = {
  code: "disk_full",
  message: expect.stringMatching(/^The container engine's disk is full: .*Free space there, for example/),
};

/** The engine has little space, which one sandbox fills. Each test then says what another one experiences. */
describe.skipIf(!canRunEngines)("an engine whose disk is full", () => {
  const { root } = makeRoot();
  const owner: Owner = { installation: "disk-full", worker: randomUUID() };
  let engine: TestEngine;
  let registry: RegistryServer;
  let provider: SandboxProvider;
  let hog: Sandbox;

  beforeAll(async () => {
    registry = await startRegistry();
    engine = await startDocker({ dataMb: 160 });
    const systemImage = await importSystem(engine.host);
    provider = await openDockerProvider({
      ...{ root, log: silent, exceptions: parseExceptions("127.0.0.1") },
      docker: { engine: { host: engine.host }, owner, systemImage },
    });
    hog = await open();
  });
  afterAll(async () => {
    await provider?.stop();
    await engine?.stop();
    await registry?.close();
    await removeFolder(dirname(root));
  });

  const open = (options: Partial<OpenOptions> = {}): Promise<Sandbox> =>
    provider.open({ id: randomUUID(), deadline: inMs(600_000), label: {}, ...options });

  async function fillDisk(): Promise<void> {
    const { exitCode, stderr } = await run(hog, "head -c 1000M /dev/zero > big");
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("No space left on device")]);
  }

  const freeSpace = () => run(hog, "rm -f big");
  // A test that fails must not leave a full disk to the next one.
  afterEach(freeSpace);

  test("fails commands that write, and they work again when there is space", async () => {
    await fillDisk();
    const { stderr } = await run(hog, "head -c 1M /dev/zero > more");
    expect(stderr).toContain("No space left on device");
    await freeSpace();
    expect((await run(hog, "echo kept > file; cat file")).stdout).toBe("kept\n");
  });

  test("rejects a new sandbox, which leaves nothing behind", async () => {
    const before = await leftoversOf(engine.host, owner.worker);
    await fillDisk();
    const use = async () => {
      const sandbox = await open();
      try {
        await run(sandbox, "true");
      } finally {
        await sandbox.close();
      }
    };
    await expect(use()).rejects.toMatchObject(diskFull);
    expect(await leftoversOf(engine.host, owner.worker)).toEqual(before);
    await freeSpace();
    await use();
  });

  test("rejects to save a base, and the sandbox can be saved later", async () => {
    const sandbox = await open();
    await run(sandbox, "echo content > file");
    await fillDisk();
    await expect(provider.saveBase(sandbox, "later")).rejects.toMatchObject(diskFull);
    expect(provider.listBases()).toEqual([]);
    await freeSpace();
    await provider.saveBase(sandbox, "later");
    const next = await open({ base: "later" });
    expect((await run(next, "cat file")).stdout).toBe("content\n");
    await next.close();
    await provider.removeBase("later");
  });

  test("rejects to pull an image, and pulls it later", async () => {
    const image = makeImage({ layers: [systemLayer()], config: { Env: ["PATH=/usr/bin:/bin"] } });
    const reference = await push(registry, "acme/system:1", image);
    const pull = async () => {
      if (!provider.images) throw new Error("The provider has no images.");
      return await provider.images.pull({ reference, digest: image.digest }, { signal });
    };
    await fillDisk();
    await expect(pull()).rejects.toMatchObject(diskFull);
    await freeSpace();
    const sandbox = await open({ image: await pull() });
    expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
    await sandbox.close();
  });
});

/** Imports a system that is smaller than the one that the worker would make. Returns its id. */
async function importSystem(host: string): Promise<string> {
  const { docker } = await openEngine({ host });
  const layer = systemLayer({}, { morePrograms: ["du", "git", "gzip", "tar"] });
  let id = "";
  const stream = await docker.importImage(Readable.from([layer], { objectMode: false }));
  await readProgress(stream, ({ status }) => {
    if (status?.startsWith("sha256:")) id = status;
  });
  return id;
}
