import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ImageError } from "../../src/images/image-error.ts";
import { architectureOf } from "../../src/images/manifest.ts";
import { silentLog } from "../../src/log.ts";
import type { Engine } from "../../src/sandboxes/docker/engine/connect.ts";
import { DockerImages, type DockerImagesOptions } from "../../src/sandboxes/docker/images/docker-images.ts";
import { hostileTar } from "../escape/hostile-tar.ts";
import { makeImage, push, type RegistryServer, startRegistry } from "../images/registry-server.ts";
import { newOwner, openSharedEngine } from "./docker-support.ts";
import { canRunEngines } from "./test-engine.ts";

const { signal } = new AbortController();
/** As `htpasswd -nbB me secret` prints it. */
const htpasswd = "me:$2b$04$wDvlQNIUtlZizmc3AYAbU.w3jDvv8syDiuUOfDhr/xpiGpDtsPYXy\n";

describe.skipIf(!canRunEngines)("images that the engine pulls", () => {
  let engine: Engine;
  let registry: RegistryServer;
  beforeAll(async () => {
    engine = await openSharedEngine();
    registry = await startRegistry();
  });
  afterAll(() => registry.close());

  function openImages(allowed = "127.0.0.1", more: Partial<DockerImagesOptions> = {}): DockerImages {
    const folder = more.folder ?? mkdtempSync(join(tmpdir(), "outrider-pulls-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return new DockerImages({
      ...{ engine, owner: newOwner(), folder, exceptions: parseExceptions(allowed) },
      ...{ ids: { enforced: false, reason: "test" }, architecture: architectureOf() },
      ...{ maxBytes: Number.POSITIVE_INFINITY, log: silentLog, ...more },
    });
  }

  const layerOf = (text: string) =>
    hostileTar([
      { name: "etc/", type: "5", text: "" },
      { name: "etc/os-release", text: 'PRETTY_NAME="Test Linux 1"\n' },
      { name: "data", text },
    ]);

  async function errorOf(call: Promise<unknown>): Promise<ImageError> {
    const error = await call.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    if (error instanceof ImageError) return error;
    throw new Error("no ImageError", { cause: error });
  }

  it("have the settings that their Dockerfile set", async () => {
    const images = openImages();
    const config = { Env: ["PATH=/usr/bin", "A=b=c"], User: "worker", WorkingDir: "/src", Cmd: ["sh"] };
    const image = makeImage({ layers: [layerOf(randomUUID())], config });
    const reference = await push(registry, "acme/app:1", image);
    const digest = await images.resolve(reference, { signal });
    expect(digest).toBe(image.digest);
    const messages: string[] = [];
    let downloaded = Number.NaN;
    const options = {
      signal,
      onProgress: (message: string) => messages.push(message),
      onDownloaded: (bytes: number) => {
        downloaded = bytes;
      },
    };
    const pulled = await images.pull({ reference, digest }, options);
    expect(pulled).toEqual({
      ...{ reference, digest, env: { PATH: "/usr/bin", A: "b=c" }, user: "worker", workingFolder: "/src" },
      ...{ onBuild: undefined, osRelease: 'PRETTY_NAME="Test Linux 1"\n' },
      layers: [expect.stringMatching(/^sha256:[0-9a-f]{64}$/)],
    });
    expect(messages.at(-1)).toMatch(/^Total: \d+\.\d MiB in \d+\.\d s\.$/);
    // Docker often does not report the size of a layer that it downloads at once.
    expect(downloaded).toBeGreaterThanOrEqual(0);
    messages.length = 0;
    expect(await images.pull({ reference, digest }, options)).toEqual(pulled);
    expect(messages).toEqual(["The image is already on this worker."]);
    expect(downloaded).toBe(0);
  });

  it("are downloaded with a known size, unless it is small", async () => {
    const image = makeImage({ layers: [layerOf(randomBytes(2 ** 23).toString("base64"))] });
    const reference = await push(registry, "acme/large:1", image);
    let downloaded = 0;
    const onDownloaded = (bytes: number) => {
      downloaded = bytes;
    };
    await openImages().pull({ reference, digest: image.digest }, { signal, onDownloaded });
    expect(downloaded).toBeGreaterThan(2 ** 20);
  });

  it("need no registry after they were pulled", async () => {
    const images = openImages();
    const other = await startRegistry();
    const image = makeImage({ layers: [layerOf(randomUUID())] });
    const reference = await push(other, "acme/app:2", image);
    const { digest } = image;
    const pulled = await images.pull({ reference, digest }, { signal });
    await other.close();
    expect(await images.pull({ reference, digest }, { signal })).toEqual(pulled);
    expect((await errorOf(openImages().pull({ reference, digest }, { signal }))).code).toBe("unreachable");
  });

  describe("that exceed the limit", () => {
    const megabyte = 2 ** 20;

    /** `evict` removes images until the rest has at most this size, as a worker does after a pull and when it starts. */
    function openLimited() {
      const folder = mkdtempSync(join(tmpdir(), "outrider-pulls-"));
      const images = openImages("127.0.0.1", { folder });
      const evict = (maxBytes: number, minUnusedMs = 0) =>
        openImages("127.0.0.1", { folder, maxBytes, minUnusedMs }).reap();
      return { images, folder, evict };
    }
    /** Pulls a new image of 2 MiB. */
    async function pullOne(images: DockerImages, name: string) {
      const image = makeImage({ layers: [layerOf(randomBytes(megabyte).toString("hex"))] });
      const reference = await push(registry, name, image);
      const { layers } = await images.pull({ reference, digest: image.digest }, { signal });
      return { reference, digest: image.digest, id: layers[0] as string };
    }
    async function findAmong(pulled: { id: string }[]): Promise<boolean[]> {
      const ids = (await engine.docker.listImages({ all: true })).map(({ Id }) => Id);
      return pulled.map(({ id }) => ids.includes(id));
    }

    it("are removed, those used least recently first", async () => {
      const { images, evict } = openLimited();
      const pulled = [await pullOne(images, "acme/lru:1"), await pullOne(images, "acme/lru:2")] as const;
      await images.pull(pulled[0], { signal }); // used again
      await evict(5 * megabyte);
      expect(await findAmong([...pulled])).toEqual([true, true]);
      await evict(3 * megabyte);
      expect(await findAmong([...pulled])).toEqual([true, false]);
      await images.pull(pulled[1], { signal });
      await evict(3 * megabyte);
      expect(await findAmong([...pulled])).toEqual([false, true]);
    });

    it("are removed after a pull", async () => {
      const images = openImages("127.0.0.1", { maxBytes: 3 * megabyte, minUnusedMs: 0 });
      const pulled = [await pullOne(images, "acme/full:1"), await pullOne(images, "acme/full:2")];
      expect(await findAmong(pulled)).toEqual([false, true]);
    });

    it("stay if they were used just now, or are in use", async () => {
      const { images, folder, evict } = openLimited();
      const pulled = [
        await pullOne(images, "acme/container:1"),
        await pullOne(images, "acme/open:1"),
      ] as const;
      await evict(0, 60_000);
      expect(await findAmong([...pulled])).toEqual([true, true]);
      const container = await engine.docker.createContainer({ Image: pulled[0].id, Cmd: ["true"] });
      const full = openImages("127.0.0.1", { folder, maxBytes: 0, minUnusedMs: 0 });
      const release = full.hold(pulled[1].id);
      await full.reap();
      expect(await findAmong([...pulled])).toEqual([true, true]);
      await container.remove();
      release();
      await full.reap();
      expect(await findAmong([...pulled])).toEqual([false, false]);
    });

    it("stay if somebody else has pulled or tagged them", async () => {
      const somebody = openImages();
      const { images, evict } = openLimited();
      const known = await pullOne(somebody, "acme/known:1");
      await images.pull(known, { signal });
      const tagged = await pullOne(images, "acme/tagged:1");
      await engine.docker.getImage(tagged.id).tag({ repo: "somebody", tag: randomUUID() });
      await evict(0);
      expect(await findAmong([known, tagged])).toEqual([true, true]);
    });
  });

  it("explain what is wrong with a reference", async () => {
    const images = openImages();
    expect(await errorOf(images.resolve(`${registry.host}/acme/none:1`, { signal }))).toMatchObject({
      code: "not_found",
    });
    expect(await errorOf(images.resolve("127.0.0.1:1/acme/none:1", { signal }))).toMatchObject({
      code: "unreachable",
    });
    expect(await errorOf(images.resolve("not a reference", { signal }))).toMatchObject({
      code: "invalid_reference",
    });
    const architecture = architectureOf() === "amd64" ? "arm64" : "amd64";
    const image = makeImage({ layers: [layerOf(randomUUID())], architecture });
    const reference = await push(registry, "acme/other:1", image);
    expect(await errorOf(images.pull({ reference, digest: image.digest }, { signal }))).toMatchObject({
      code: "wrong_architecture",
    });
  });

  it("come only from private addresses that the operator allows", async () => {
    const error = await errorOf(openImages("").resolve(`${registry.host}/acme/app:1`, { signal }));
    expect(error.message).toMatch(
      /has the private address 127\.0\.0\.1, which this worker does not allow\.$/,
    );
  });

  it("are only for those who use the secret with which they were pulled", async () => {
    const images = openImages();
    const guarded = await startRegistry({ htpasswd });
    onTestFinished(() => guarded.close());
    guarded.headers = { authorization: `Basic ${Buffer.from("me:secret").toString("base64")}` };
    const image = makeImage({ layers: [layerOf(randomUUID())] });
    const reference = await push(guarded, "acme/private:1", image);
    const { digest } = image;
    const owner = { signal, credentials: "me:secret", secretName: "REGISTRY" };
    expect((await errorOf(images.resolve(reference, { signal }))).code).toBe("unauthorized");
    expect(await images.resolve(reference, owner)).toBe(digest);
    await images.pull({ reference, digest }, owner);
    const denied = await errorOf(images.pull({ reference, digest }, { signal }));
    expect(denied.code).toBe("unauthorized");
    const wrong = { signal, credentials: "me:not-the-password", secretName: "OTHER" };
    const error = await errorOf(images.pull({ reference, digest }, wrong));
    expect(error.code).toBe("unauthorized");
    expect(`${error.message} ${error.remedy}`).not.toContain("not-the-password");
  });
});
