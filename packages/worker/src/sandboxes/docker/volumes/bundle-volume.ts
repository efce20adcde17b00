import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import type { Bundle } from "../../sandbox.ts";
import { createArchive } from "../containers/file-archive.ts";
import { isEngineError } from "../engine/errors.ts";
import { type Owner, sharedLabels, sharedObjectName } from "../labels.ts";
import { fillVolume } from "./fill-volume.ts";

const kind = "bundle";

/** Returns the name of a volume with the files of a bundle. Creates it if the engine does not have it. */
export async function ensureBundleVolume(
  docker: Docker,
  { owner, image, bundle }: { owner: Owner; image: string; bundle: Bundle },
): Promise<string> {
  const volume = sharedObjectName(owner, kind, bundle.id.slice(0, 32));
  try {
    await docker.getVolume(volume).inspect();
    return volume;
  } catch (error) {
    if (!isEngineError(error, "not_found")) throw error;
  }
  const labels = sharedLabels(owner, { kind, content: bundle.id });
  await docker.createVolume({ Name: volume, Labels: labels });
  await fillVolume(docker, { volume, image, labels, archive: createArchive(entriesOf(bundle.folder)) });
  return volume;
}

function entriesOf(folder: string) {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    const { mode } = statSync(path);
    if (entry.isDirectory()) return { name: `${name}/`, mode: mode & 0o777 };
    return { name, content: readFileSync(path), mode: mode & 0o777 };
  });
}
