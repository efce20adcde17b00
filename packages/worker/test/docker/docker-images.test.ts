import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { ImageError } from "../../src/images/image-error.ts";
import { architectureOf } from "../../src/images/manifest.ts";
import type { Engine } from "../../src/sandboxes/docker/engine/connect.ts";
import { DockerImages } from "../../src/sandboxes/docker/images/docker-images.ts";
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

  function openImages(allowed = "127.0.0.1"): DockerImages {
    const folder = mkdtempSync(join(tmpdir(), "outrider-pulls-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return new DockerImages({
      ...{ engine, owner: newOwner(), folder, exceptions: parseExceptions(allowed) },
      ...{ ids: { enforced: false, reason: "test" }, architecture: architectureOf() },
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
