/** Writes images as archives that containerd can import, without a registry. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, rmSync, statSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { architectureOf } from "../../src/images/manifest.ts";
import { type ArchiveEntry, packEntries } from "../../src/sandboxes/files/pack-files.ts";

export interface ArchivedImage {
  /** With a registry and a tag, such as `outrider.test/pause:1`. */
  name: string;
  entries: Iterable<ArchiveEntry>;
  /** What `docker inspect` shows as `Config`. */
  config: object;
}

/** The format is that of `docker save`, with one layer. */
export async function writeImageArchive(
  path: string,
  { name, entries, config }: ArchivedImage,
): Promise<void> {
  const layerPath = `${path}.layer`;
  try {
    await pipeline(packEntries(entries), createWriteStream(layerPath));
    const diffId = await hashFile(layerPath);
    const description = { os: "linux", architecture: architectureOf(), config };
    const image = Buffer.from(
      JSON.stringify({ ...description, rootfs: { type: "layers", diff_ids: [`sha256:${diffId}`] } }),
    );
    const imagePath = `${createHash("sha256").update(image).digest("hex")}.json`;
    const manifest = JSON.stringify([{ Config: imagePath, RepoTags: [name], Layers: ["layer.tar"] }]);
    const files: ArchiveEntry[] = [
      { path: imagePath, mode: 0o644, content: { type: "data", data: image } },
      {
        path: "layer.tar",
        mode: 0o644,
        content: { type: "file", source: layerPath, size: statSync(layerPath).size },
      },
      { path: "manifest.json", mode: 0o644, content: { type: "data", data: Buffer.from(manifest) } },
    ];
    await pipeline(packEntries(files), createWriteStream(path));
  } finally {
    rmSync(layerPath, { force: true });
  }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}
