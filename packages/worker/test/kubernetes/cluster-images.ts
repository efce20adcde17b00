/** Images of this machine's programs for test clusters. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listSystemImageEntries } from "../../src/sandboxes/docker/volumes/system-image.ts";
import { type ArchiveEntry, describeFile } from "../../src/sandboxes/files/pack-files.ts";
import { nativeProgram, programNames, programsPath } from "../../src/sandboxes/files/programs.ts";
import { sandboxPaths } from "../../src/sandboxes/paths.ts";
import { type ArchivedImage, writeImageArchive } from "./image-archive.ts";
import type { TestCluster } from "./test-cluster.ts";

/** Imports an image into the cluster, and returns its name. */
export async function importImage(cluster: TestCluster, image: ArchivedImage): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-image-"));
  try {
    await writeImageArchive(join(folder, "image.tar"), image);
    await cluster.importImage(join(folder, "image.tar"));
  } finally {
    rmSync(folder, { recursive: true });
  }
  return image.name;
}

/** Imports an image whose only program is busybox, and returns its name. */
export async function importBusybox(cluster: TestCluster): Promise<string> {
  const source = "/usr/bin/busybox";
  const names = execFileSync(source, ["--list"], { encoding: "utf8" }).trim().split("\n");
  const folders = ["bin", "tmp", "workspace"].map((path) => folder(path, 0o777));
  const links = names
    .filter((name) => name !== "busybox")
    .map((name) => ({
      ...{ path: `bin/${name}`, mode: 0o777, content: { type: "link" as const, target: "busybox" } },
    }));
  const entries = [...folders, program(source, "bin/busybox"), ...links];
  const config = { Env: ["PATH=/bin"], Cmd: ["sleep", "infinity"] };
  return await importImage(cluster, { name: "outrider.test/busybox:1", entries, config });
}

/**
 * Imports an image with the system that Docker's containers have without an image, and the programs of sandboxes in their
 * usual folder. Returns its name.
 */
export async function importSystemImage(cluster: TestCluster): Promise<string> {
  const { rgPath } = await import("@vscode/ripgrep");
  const folders = programsPath.slice(1).split("/");
  const paths = folders.map((_, index) => folders.slice(0, index + 1).join("/"));
  const system = (await listSystemImageEntries()).filter(({ path }) => !paths.includes(path));
  const entries = [
    ...[...system, ...paths.map((path) => folder(path))],
    ...programNames.map((name) => program(nativeProgram(name), `${paths.at(-1)}/${name}`)),
    program(rgPath, `${paths.at(-1)}/rg`),
  ];
  const config = {
    Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
    ...{ User: "1000:1000", WorkingDir: sandboxPaths.workspace, Cmd: ["sleep", "infinity"] },
  };
  return await importImage(cluster, { name: "outrider.test/system:1", entries, config });
}

const folder = (path: string, mode = 0o755): ArchiveEntry => ({ path, mode, content: { type: "folder" } });

function program(source: string, path: string): ArchiveEntry {
  const entry = describeFile(source, path);
  if (!entry) throw new Error(`${source} is missing. Run \`scripts/setup test\`.`);
  return { ...entry, mode: 0o755 };
}
