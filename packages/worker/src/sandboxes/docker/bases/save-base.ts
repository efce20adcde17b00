import { runTool } from "../containers/run-tool.ts";
import type { DockerSandboxOptions } from "../docker-sandbox-options.ts";
import { removeImage } from "../images/remove-image.ts";
import { sandboxObjectName } from "../labels.ts";
import { copyFolders } from "../sandbox-files.ts";
import { SandboxVolumes } from "../volumes/sandbox-volumes.ts";
import type { BaseFolder } from "./docker-bases.ts";
import { commitContainer } from "./image-archive.ts";

/**
 * Saves the files of a sandbox whose processes have ended. Its own volumes become those of the base; without a base of its
 * own, nothing is copied. With an image, the other changes to the system are committed as a new image.
 */
export async function saveBase(name: string, options: DockerSandboxOptions): Promise<void> {
  const { shared, volumes, containers, labels, files } = options;
  const { docker, bases, owner } = shared;
  bases.assertValidName(name);
  if (bases.has(name)) return;
  // Volumes get their first content with the container.
  const container = await containers.get("commands");
  const paths = Object.keys(files.merged);
  let saved = paths.map((path) => files.merged[path] as string);
  const copies = new SandboxVolumes(docker, {
    ...{ prefix: sandboxObjectName(owner, { sandbox: options.id, kind: "base" }), labels },
  });
  let image: string | undefined;
  try {
    if (options.base !== undefined) {
      const merged = saved;
      saved = await Promise.all(merged.map(() => copies.create("folder")));
      await copyFolders(
        shared,
        labels,
        merged.map((from, index) => ({ from, to: saved[index] as string })),
      );
    }
    const { folders, bytes } = await describeFolders(paths, saved, options);
    if (options.image) image = await commitContainer(container, labels);
    bases.add(name, { folders, image, bytes });
  } catch (error) {
    if (image !== undefined) await removeImage(docker, image).catch(() => {});
    await copies.remove().catch(() => {}); // reap removes them later
    throw error;
  }
  for (const volume of saved) volumes.release(volume);
}

/** Reads the owners and modes of the folders, which an overlay does not take from its lower layer, and their size. */
async function describeFolders(
  paths: string[],
  volumes: string[],
  { shared, labels }: DockerSandboxOptions,
): Promise<{ folders: Record<string, BaseFolder>; bytes: number }> {
  const mounted = paths.map((_, index) => `/folder-${index}`);
  const output = await runTool(shared, {
    argv: ["/bin/sh", "-c", 'stat -c "%u %g %a" -- "$@" && du -scB1 -- "$@" | tail -n 1', "sh", ...mounted],
    volumes: Object.fromEntries(mounted.map((path, index) => [path, volumes[index] as string])),
    labels,
  });
  const lines = output.split("\n");
  const folders = paths.map((path, index): [string, BaseFolder] => {
    const [uid = "", gid = "", mode = ""] = (lines[index] ?? "").split(" ");
    const volume = volumes[index] as string;
    return [path, { volume, uid: Number(uid), gid: Number(gid), mode: Number.parseInt(mode, 8) }];
  });
  return { folders: Object.fromEntries(folders), bytes: Number.parseInt(lines[paths.length] ?? "", 10) || 0 };
}
