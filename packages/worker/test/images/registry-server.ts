/** A real registry (Debian's docker-registry) on a loopback port, and images to push to it. Benchmarks use it too. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { architectureOf } from "../../src/images/manifest.ts";

export interface RegistryServer {
  /** `127.0.0.1:PORT`. */
  host: string;
  /** Headers for pushes. */
  headers: Record<string, string>;
  close(): Promise<void>;
}

export async function startRegistry({ htpasswd }: { htpasswd?: string } = {}): Promise<RegistryServer> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-registry-"));
  const port = await findFreePort();
  const host = `127.0.0.1:${port}`;
  writeFileSync(join(folder, "htpasswd"), htpasswd ?? "");
  const auth = { auth: { htpasswd: { realm: "test", path: join(folder, "htpasswd") } } };
  // The registry reads YAML, of which JSON is a part.
  const config = {
    version: "0.1",
    log: { level: "info", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "data") }, delete: { enabled: true } },
    http: { addr: host },
    ...(htpasswd === undefined ? {} : auth),
  };
  writeFileSync(join(folder, "config.yml"), JSON.stringify(config));
  const server = spawn("docker-registry", ["serve", join(folder, "config.yml")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  await isListening(server);
  return { host, headers: {}, close: () => stop(server, folder) };
}

/** Waits for the line of the log that says so. */
async function isListening({ stderr }: ChildProcess): Promise<void> {
  let log = "";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stderr?.on("data", (data: Buffer) => {
    log = (log + data).slice(-10_000);
    if (log.includes("listening on")) resolve();
  });
  stderr?.on("end", () => reject(new Error(`docker-registry exited: ${log}`)));
  await promise;
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  const exited = server.exitCode === null ? once(server, "exit") : undefined;
  server.kill("SIGKILL");
  await exited;
  rmSync(folder, { recursive: true, force: true });
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

export const sha256 = (data: Buffer | string) => `sha256:${createHash("sha256").update(data).digest("hex")}`;

export interface TestImage {
  manifest: string;
  mediaType: string;
  digest: string;
  blobs: Buffer[];
}

export interface ImageContent {
  /** Uncompressed archives from bottom to top. */
  layers: Buffer[];
  compress?: (tar: Buffer) => Buffer;
  /** What `docker inspect` shows as `Config`. */
  config?: object;
  architecture?: string;
  /** Default: OCI. */
  docker?: boolean;
  diffIds?: string[];
}

const types = {
  oci: {
    manifest: "application/vnd.oci.image.manifest.v1+json",
    index: "application/vnd.oci.image.index.v1+json",
    config: "application/vnd.oci.image.config.v1+json",
    layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  },
  docker: {
    manifest: "application/vnd.docker.distribution.manifest.v2+json",
    index: "application/vnd.docker.distribution.manifest.list.v2+json",
    config: "application/vnd.docker.container.image.v1+json",
    layer: "application/vnd.docker.image.rootfs.diff.tar.gzip",
  },
};

export function makeImage(content: ImageContent): TestImage {
  const {
    layers,
    compress = gzipSync,
    config = {},
    architecture = architectureOf(),
    docker = false,
  } = content;
  const type = types[docker ? "docker" : "oci"];
  const diffIds = content.diffIds ?? layers.map(sha256);
  const configBlob = Buffer.from(
    JSON.stringify({ os: "linux", architecture, config, rootfs: { type: "layers", diff_ids: diffIds } }),
  );
  const blobs = layers.map((layer) => Buffer.from(compress(layer)));
  const describe = (mediaType: string, data: Buffer) => ({
    mediaType,
    digest: sha256(data),
    size: data.length,
  });
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: type.manifest,
    config: describe(type.config, configBlob),
    layers: blobs.map((blob) => describe(type.layer, blob)),
  });
  return { manifest, mediaType: type.manifest, digest: sha256(manifest), blobs: [configBlob, ...blobs] };
}

export function makeIndex(images: { image: TestImage; platform: object }[], docker = false): TestImage {
  const mediaType = types[docker ? "docker" : "oci"].index;
  const manifests = images.map(({ image, platform }) => ({
    mediaType: image.mediaType,
    digest: image.digest,
    size: image.manifest.length,
    platform,
  }));
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, manifests });
  return { manifest, mediaType, digest: sha256(manifest), blobs: [] };
}

/** Pushes an image and returns its reference. */
export async function push(
  { host, headers }: RegistryServer,
  nameAndTag: string,
  image: TestImage,
): Promise<string> {
  const [name, tag = image.digest] = nameAndTag.split(":");
  for (const blob of image.blobs) {
    const started = await fetch(`http://${host}/v2/${name}/blobs/uploads/`, { method: "POST", headers });
    assert.equal(started.status, 202);
    const url = new URL(started.headers.get("location") ?? "");
    url.searchParams.set("digest", sha256(blob));
    const stored = await fetch(url, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/octet-stream" },
      body: new Uint8Array(blob),
    });
    assert.equal(stored.status, 201);
  }
  const stored = await fetch(`http://${host}/v2/${name}/manifests/${tag}`, {
    method: "PUT",
    headers: { ...headers, "content-type": image.mediaType },
    body: image.manifest,
  });
  assert.equal(stored.status, 201, await stored.text());
  return `${host}/${nameAndTag}`;
}
