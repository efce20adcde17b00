import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, relative } from "node:path";
import type { Readable } from "node:stream";
import { explain, type Places } from "./bubblewrap.ts";
import { placesIn } from "./folders.ts";
import type { Ground } from "./grounds.ts";
import { firstBytes } from "./output.ts";

/** Where the upper layer and the base are, for whoever wants to know what differs. */
export interface Difference {
  upper: string;
  lower: string;
}

/** The files of a sandbox that has a base or a disk of its own, as its mount namespace shows them. */
export interface Layers {
  mnt: number;
  user: number | undefined;
  places: Places;
  difference: Difference | undefined;
}

export interface LayersOptions {
  root: string;
  ground: Ground;
  /** The base's folder, relative to the root. */
  base: string | undefined;
  /** The user namespace of an ordinary user's sandbox. */
  user: number | undefined;
}

export async function makeLayers({ root, ground, base, user }: LayersOptions): Promise<Layers> {
  const { mnt } = ground;
  const files = join(ground.folder, ground.files);
  if (base === undefined) return { mnt, user, places: placesIn(files), difference: undefined };
  // A folder that is renamed within an overlay must not become a reference to its old name: snapshots look at names.
  const options = user === undefined ? "redirect_dir=off,metacopy=off" : "userxattr";
  // The options are one string, in which commas and colons of an operator's folder would have a meaning.
  const script = 'cd "$1" && exec mount -t overlay -o "$2" overlay "$3"';
  const lower = relative(ground.folder, join(root, base));
  const layers = `lowerdir=${lower},upperdir=${ground.files}/upper,workdir=${ground.files}/work`;
  const merged = join(ground.folder, "merged");
  await runIn({ mnt, user }, ["sh", "-c", script, "sh", ground.folder, `${layers},${options}`, merged]);
  return {
    ...{ mnt, user },
    places: { ...placesIn(merged), tmp: placesIn(files).tmp },
    difference: { upper: join(files, "upper"), lower: join(root, base) },
  };
}

/** Copies workspace and home, which only the mount namespace shows, into a folder of the host. */
export async function copyOut({ places, ...layers }: Layers, target: string): Promise<void> {
  const paths = [places.workspace, places.home, target];
  // It may take long, and nobody needs it without us.
  await runIn(layers, ["setpriv", "--pdeathsig", "KILL", "cp", "-a", "--reflink=auto", "--", ...paths]);
}

async function runIn({ mnt, user }: Pick<Layers, "mnt" | "user">, argv: string[]): Promise<void> {
  const enter = [
    "--mount=/proc/self/fd/3",
    ...(user === undefined ? [] : ["--user=/proc/self/fd/4", "--preserve-credentials"]),
  ];
  const child = spawn("nsenter", [...enter, ...argv], {
    stdio: ["ignore", "ignore", "pipe", mnt, user ?? "ignore"],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
  });
  const [[code], complaint] = await Promise.all([
    once(child, "exit"),
    firstBytes(child.stderr as Readable, 1000),
  ]);
  if (code !== 0) throw new Error(explain(complaint.toString()));
}
