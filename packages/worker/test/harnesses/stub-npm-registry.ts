/** A small npm registry with packages that a test defines. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

export interface StubPackage {
  manifest: { name: string; version: string } & Record<string, unknown>;
  files?: Record<string, string | Buffer>;
}

export interface StubNpmRegistry {
  url: string;
  /** The paths of all requests for archives of packages. */
  downloads: string[];
  /** The hosts that requests were for. */
  hosts: Set<string>;
  /** Set to replace the response to requests. Returns whether it has responded. */
  intercept: ((...args: Parameters<RequestListener>) => boolean) | undefined;
  /** Replaces a package of the same name and version. */
  publish(stub: StubPackage): void;
  close(): Promise<void>;
}

export async function startStubNpmRegistry(): Promise<StubNpmRegistry> {
  const packages = new Map<string, Map<string, { manifest: StubPackage["manifest"]; archive: Buffer }>>();
  const registry: Pick<StubNpmRegistry, "downloads" | "hosts" | "intercept"> = {
    ...{ downloads: [], hosts: new Set(), intercept: undefined },
  };
  const server = createServer((request, response) => {
    // It is also a proxy, which serves every host.
    registry.hosts.add(request.headers.host ?? "");
    if (registry.intercept?.(request, response)) return;
    const path = decodeURIComponent(new URL(request.url ?? "", url).pathname).slice(1);
    const [name = "", version] = path.replace(/\.tgz$/, "").split("/-/");
    const versions = packages.get(name);
    if (!versions) return void response.writeHead(404).end("{}");
    if (version !== undefined) {
      registry.downloads.push(path);
      return void response.end(versions.get(version)?.archive);
    }
    const described = [...versions].map(([version, { manifest, archive }]) => {
      const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
      return [version, { ...manifest, dist: { tarball: `${url}/${name}/-/${version}.tgz`, integrity } }];
    });
    const latest = described.at(-1)?.[0];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest }, versions: Object.fromEntries(described) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(registry, {
    url,
    publish({ manifest, files = {} }: StubPackage) {
      const archive = pack({ "package.json": JSON.stringify(manifest), ...files });
      const versions = packages.get(manifest.name) ?? new Map();
      packages.set(manifest.name, versions.set(manifest.version, { manifest, archive }));
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

function pack(files: Record<string, string | Buffer>): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "outrider-npm-"));
  try {
    for (const [name, content] of Object.entries(files)) {
      const path = join(folder, "package", name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content, { mode: /\.js$/.test(name) ? 0o755 : 0o644 });
    }
    return gzipSync(
      execFileSync("tar", ["-C", folder, "--mtime=@0", "--sort=name", "-cf", "-", "package"], {
        maxBuffer: 2 ** 28,
      }),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
