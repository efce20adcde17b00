import { canBeVolume, homeOf } from "../systems/image-home.ts";
import type { SharedResources } from "./shared-resources.ts";
import { readContainerFile } from "./volumes/archive.ts";

const maxAccountBytes = 4 * 2 ** 20;

/**
 * Returns the home of a user of an image if it can be a volume. Volumes are mounted before the first process starts, so
 * the image's list of users is read without one. The rules are those of native/sandbox-files.c.
 */
export async function findImageHome(
  { engine, imageHomes }: Pick<SharedResources, "engine" | "imageHomes">,
  { image, user, labels }: { image: string; user: string; labels: Record<string, string> },
): Promise<string | undefined> {
  const key = `${image} ${user}`;
  const home = imageHomes.get(key) ?? (await readHome(engine, { image, user, labels }));
  imageHomes.set(key, home);
  return canBeVolume(home) ? home : undefined;
}

async function readHome(
  engine: SharedResources["engine"],
  { image, user, labels }: { image: string; user: string; labels: Record<string, string> },
): Promise<string> {
  const container = await engine.docker.createContainer({
    ...{ Image: image, Labels: labels, Entrypoint: ["none"], Cmd: [] },
    HostConfig: { NetworkMode: "none" },
  });
  try {
    const accounts = await readContainerFile(engine.docker, container.id, "/etc/passwd", maxAccountBytes);
    return homeOf(user, accounts?.toString("latin1") ?? "");
  } finally {
    await container.remove({ force: true, v: true });
  }
}
