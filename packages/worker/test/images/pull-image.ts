/**
 * Pulls an image and prints the merged tree of its layers, as JSON. A program of its own, because a test runs it as
 * several users. Arguments: the reference and an empty folder.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { pullImage } from "../../src/images/images.ts";
import { LayerStore } from "../../src/images/layer-store.ts";
import { silentLog } from "../../src/log.ts";
import { storeUid } from "../../src/sandboxes/local/systems/uid-ranges.ts";

const [reference = "", folder = ""] = process.argv.slice(2);
const store = new LayerStore({ folder: join(folder, "layers"), maxBytes: 2 ** 30, log: silentLog });
const phases: string[] = [];
const image = await pullImage(reference, {
  store,
  exceptions: parseExceptions("127.0.0.1"),
  signal: new AbortController().signal,
  onProgress: ({ phase }) => phases.push(phase),
});
const [merged, empty] = [join(folder, "merged"), join(folder, "empty")];
for (const path of [merged, empty]) mkdirSync(path);
const isRoot = process.getuid?.() === 0;
const script = `
cd "$1" && mount -t overlay -o "$2" overlay "$3" && cd "$3" || exit
find . -mindepth 1 -printf '%P %y %m %U:%G %l\\n' | LC_ALL=C sort`;
const lower = image.layers.map(({ name }) => name).toReversed();
const tree = execFileSync(
  "unshare",
  [
    ...(isRoot ? ["--mount"] : ["--user", "--map-root-user", "--mount"]),
    ...["sh", "-c", script, "sh", store.folder],
    // An overlay needs two folders if it has no upper layer.
    `lowerdir=${[...lower, empty].join(":")},userxattr`,
    merged,
  ],
  { encoding: "utf8" },
).replaceAll(/ (\d{10}):(\d{10}) /g, (_, uid, gid) => ` ${uid - storeUid}:${gid - storeUid} `);
const { config, notices } = image;
image.release();
process.stdout.write(
  JSON.stringify({ uid: process.getuid?.(), tree: tree.slice(0, -1).split("\n"), config, notices, phases }),
);
