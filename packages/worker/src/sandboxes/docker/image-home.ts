import { posix } from "node:path";
import { sandboxPaths } from "../paths.ts";
import type { SharedResources } from "./shared-resources.ts";
import { readContainerFile } from "./volumes/archive.ts";

const maxAccountBytes = 4 * 2 ** 20;
/** A volume at one of these paths would hide or break the system. Homes there are not stored in snapshots. */
const systemFolder =
  /^\/(|(bin|boot|dev|etc|lib|lib32|lib64|libx32|proc|run|sbin|sys|usr)(\/.*)?|home|media|mnt|opt|opt\/outrider(\/.*)?|srv|tmp|var|var\/(cache|lib|log|run|spool|tmp))$/;

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
  const isInWorkspace = `${home}/`.startsWith(`${sandboxPaths.workspace}/`);
  return isInWorkspace || systemFolder.test(home) ? undefined : home;
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

/** `accounts`: the content of /etc/passwd. */
export function homeOf(user: string, accounts: string): string {
  const name = user.split(":")[0] ?? "";
  const isNumber = /^\d{1,9}$/.test(name);
  const lines = accounts.split("\n").map((line) => line.split(":"));
  const account = lines.find((fields) => {
    return fields.length >= 6 && (isNumber ? Number(fields[2]) === Number(name) : fields[0] === name);
  });
  const home = account?.[5] ?? "";
  if (/^\/./.test(home)) return posix.normalize(home).replace(/(?<=.)\/$/, "");
  const isRoot = !account && (name === "root" || Number(name) === 0);
  return isRoot ? "/root" : sandboxPaths.home;
}
