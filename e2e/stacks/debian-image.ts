import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { makeImage, push, type RegistryServer } from "../../packages/worker/test/images/registry-server.ts";

const GIB = 2 ** 30;

/** Installs a minimal Debian from the archive that this machine's apt uses, and pushes it as an image. */
export async function pushDebian(registry: RegistryServer, release: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-debian-"));
  try {
    const root = join(folder, "root");
    execFileSync("debootstrap", ["--variant=minbase", release, root, aptArchive()], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const options = [
      "--sort=name",
      "--numeric-owner",
      "--exclude=./var/cache/apt/archives/*.deb",
      "--exclude=./dev/*",
    ];
    const layer = execFileSync("tar", ["-C", root, ...options, "-c", "."], { maxBuffer: 2 * GIB });
    const image = makeImage({
      layers: [layer],
      compress: (tar) => gzipSync(tar, { level: 1 }),
      config: { Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] },
    });
    return await push(registry, `debian:${release}`, image);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the address of the archive from which apt gets its main packages. */
export function aptArchive(): string {
  const targets = execFileSync(
    "apt-get",
    ["indextargets", "--format", "$(REPO_URI) $(COMPONENT)", "Created-By: Packages"],
    { encoding: "utf8" },
  );
  const address = targets
    .split("\n")
    .find((line) => line.endsWith(" main"))
    ?.split(" ")[0];
  if (!address) throw new Error("apt has no source with the component main. Add one to its sources.");
  return address;
}
