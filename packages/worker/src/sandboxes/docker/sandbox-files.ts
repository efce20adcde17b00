/**
 * The volumes of a sandbox.
 *
 * - Without a base, the workspace and the home are a volume each.
 * - With a base, each is an overlay: the base's volume is the lower layer, and one volume of the sandbox has the upper
 *   layers. Opening a sandbox copies nothing then. The folders of volumes are paths on the engine's machine.
 * - If the engine cannot mount overlays, the base's files are copied.
 */

import { createArchive } from "../files/file-archive.ts";
import { layerPaths } from "../files/script-paths.ts";
import { sandboxPaths } from "../paths.ts";
import type { BaseFolder, BaseObjects } from "./bases/docker-bases.ts";
import type { VolumeMount } from "./containers/container-spec.ts";
import { runTool } from "./containers/run-tool.ts";
import type { SharedResources } from "./shared-resources.ts";
import { fillVolume } from "./volumes/fill-volume.ts";
import { mountpointOf, type SandboxVolumes } from "./volumes/sandbox-volumes.ts";

const { workspace, home: scriptHome } = sandboxPaths;

export interface SandboxFiles {
  commandMounts: VolumeMount[];
  scriptMounts: VolumeMount[];
  hasLayers: boolean;
  /** The volumes with all files, by the path of the folder. */
  merged: Record<string, string>;
}

export interface FilesOptions {
  shared: SharedResources;
  volumes: SandboxVolumes;
  labels: Record<string, string>;
  /** Undefined if the home is in the workspace or cannot be a volume. */
  home: string | undefined;
  base: BaseObjects | undefined;
  hasImage: boolean;
}

export async function createSandboxFiles(options: FilesOptions): Promise<SandboxFiles> {
  const { home, base, shared } = options;
  const paths = [workspace, ...(home === undefined ? [] : [home])];
  if (!base) return await createFresh(paths, options);
  return shared.canOverlay
    ? await createLayered(paths, base, options)
    : await createCopies(paths, base, options);
}

async function createFresh(paths: string[], { volumes, hasImage }: FilesOptions): Promise<SandboxFiles> {
  const names = await Promise.all(paths.map((path) => volumes.create(nameOf(path))));
  return describeFiles(paths, names, { copiesImage: hasImage });
}

function describeFiles(
  paths: string[],
  names: string[],
  { copiesImage }: { copiesImage: boolean },
): SandboxFiles {
  return {
    commandMounts: paths.map((target, index) => ({ target, volume: names[index] as string, copiesImage })),
    scriptMounts: paths.map((path, index) => ({
      target: scriptPathOf(path),
      volume: names[index] as string,
    })),
    hasLayers: false,
    merged: Object.fromEntries(paths.map((path, index) => [path, names[index] as string])),
  };
}

async function createCopies(
  paths: string[],
  base: BaseObjects,
  { shared, volumes, labels, hasImage }: FilesOptions,
): Promise<SandboxFiles> {
  const names = await Promise.all(paths.map((path) => volumes.create(nameOf(path))));
  const copied = paths.filter((path) => base.folders[path] !== undefined);
  await copyFolders(
    shared,
    labels,
    copied.map((path) => {
      return { from: folderOf(base, path).volume, to: names[paths.indexOf(path)] as string };
    }),
  );
  return describeFiles(paths, names, { copiesImage: hasImage });
}

async function createLayered(
  paths: string[],
  base: BaseObjects,
  { shared, volumes, labels, hasImage }: FilesOptions,
): Promise<SandboxFiles> {
  const { docker } = shared;
  const layered = paths.filter((path) => base.folders[path] !== undefined);
  const layers = await volumes.create("layers");
  const archive = createArchive([
    ...["upper/", "work/"].map((name) => ({ name, mode: 0o755 })),
    ...layered.flatMap((path) => [
      { ...folderOf(base, path), name: `upper/${nameOf(path)}/` },
      { name: `work/${nameOf(path)}/`, mode: 0o700 },
    ]),
  ]);
  const [folder, ...lower] = await Promise.all([
    mountpointOf(docker, layers),
    ...layered.map((path) => mountpointOf(docker, folderOf(base, path).volume)),
    fillVolume(docker, { volume: layers, image: shared.systemImage, archive, labels }),
  ]);
  const upper = await volumes.createBind("upper", `${folder}/upper`);
  const merged = await Promise.all(
    paths.map((path) => {
      const index = layered.indexOf(path);
      if (index < 0) return volumes.create(nameOf(path));
      const name = nameOf(path);
      return volumes.createOverlay(name, {
        lower: lower[index] as string,
        upper: `${folder}/upper/${name}`,
        work: `${folder}/work/${name}`,
      });
    }),
  );
  const files = describeFiles(paths, merged, { copiesImage: false });
  return {
    ...files,
    commandMounts: files.commandMounts.map((mount) => ({
      ...mount,
      copiesImage: hasImage && !layered.includes(mount.target),
    })),
    scriptMounts: [
      ...files.scriptMounts,
      { volume: upper, target: layerPaths.upper },
      ...layered.map((path) => ({
        ...{ volume: folderOf(base, path).volume, readOnly: true },
        target: `${layerPaths.lower}/${nameOf(path)}`,
      })),
    ],
    hasLayers: true,
  };
}

/** Copies all files of volumes, with their owners and modes. */
export async function copyFolders(
  shared: SharedResources,
  labels: Record<string, string>,
  folders: { from: string; to: string }[],
): Promise<void> {
  const script = 'while [ $# -gt 0 ]; do cp -a --reflink=auto -- "$1/." "$2" || exit; shift 2; done';
  await runTool(shared, {
    argv: [
      "/bin/sh",
      "-c",
      script,
      "sh",
      ...folders.flatMap((_, index) => [`/from-${index}`, `/to-${index}`]),
    ],
    volumes: Object.fromEntries(
      folders.flatMap(({ from, to }, index) => [
        [`/from-${index}`, from],
        [`/to-${index}`, to],
      ]),
    ),
    labels,
  });
}

const folderOf = (base: BaseObjects, path: string) => base.folders[path] as BaseFolder;
const nameOf = (path: string) => (path === workspace ? "workspace" : "home");
const scriptPathOf = (path: string) => (path === workspace ? workspace : scriptHome);
