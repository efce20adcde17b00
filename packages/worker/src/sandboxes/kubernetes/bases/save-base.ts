import { createWriteStream } from "node:fs";
import { copyFile, rename } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { firstBytes } from "../../first-bytes.ts";
import type { InitCommand, InitConnection } from "../../init/init-connection.ts";
import type { PodSetup } from "../pod-setup.ts";
import type { SandboxPod } from "../pods/sandbox-pod.ts";
import type { SharedResources } from "../shared-resources.ts";
import { baseScripts } from "./base-archive.ts";
import { packImageBase } from "./image-base.ts";

/** How long a base may take to arrive. The sandbox's own deadline has passed or is near. */
const saveMs = 30 * 60_000;

interface SaveOptions {
  id: string;
  shared: SharedResources;
  pod: SandboxPod;
  setup: PodSetup;
  /** The home that is a volume. */
  home: string | undefined;
  hasImage: boolean;
}

/** Stores the files of a sandbox, in which nothing runs, in the worker's folder. */
export async function saveBase(name: string, options: SaveOptions): Promise<void> {
  const { id, shared, setup } = options;
  const { bases } = shared;
  bases.assertValidName(name);
  if (bases.has(name)) return;
  const { unusedBase } = setup;
  if (unusedBase !== undefined) {
    const isDraft = unusedBase === bases.draftPath(id);
    return await bases.add(name, (path) => (isDraft ? rename(unusedBase, path) : copyFile(unusedBase, path)));
  }
  await saveFiles(name, options);
}

async function saveFiles(name: string, { shared, pod, setup, home, hasImage }: SaveOptions): Promise<void> {
  const until = performance.now() + saveMs;
  const kind = hasImage ? "commands" : "scripts";
  const connectOptions = {
    remainingMs: () => until - performance.now(),
    isAborted: () => false,
    folders: [],
  };
  await setup.fillVolumes(connectOptions);
  const found = await pod.connect(kind, connectOptions);
  if (!found) throw new Error("The sandbox was killed.");
  const { connection } = found;
  try {
    if (hasImage) await setup.setUp(kind, found, connectOptions);
    await shared.bases.add(name, async (path) => {
      const run = async (argv: string[]) => start(connection, argv);
      const { packing, archive } = hasImage
        ? await packImageBase(run, { home, argv: () => setup.describePacking() })
        : await packFiles(run);
      const [stderr, { exitCode }] = await Promise.all([
        firstBytes(packing.stderr, 1000),
        packing.ended,
        pipeline(archive, createWriteStream(path, { mode: 0o600 })),
      ]);
      if (exitCode !== 0)
        throw new Error(`Failed to save the base: ${stderr.toString().trim() || exitCode}.`);
    });
  } finally {
    await connection.endCommands(20_000);
  }
}

async function packFiles(run: (argv: string[]) => Promise<InitCommand>) {
  const packing = await run(["/bin/bash", "-c", baseScripts.packScript]);
  return { packing, archive: packing.stdout };
}

function start(connection: InitConnection, argv: string[]) {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
  return connection.start({ argv, env, folders: ["/"], stdin: false });
}
