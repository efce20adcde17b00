import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { firstBytes } from "../../first-bytes.ts";
import type { SandboxPod } from "../pods/sandbox-pod.ts";
import type { SharedResources } from "../shared-resources.ts";
import { baseScripts } from "./base-archive.ts";

/** How long a base may take to arrive. The sandbox's own deadline has passed or is near. */
const saveMs = 30 * 60_000;

/** Stores the files of a sandbox, in which nothing runs, in the worker's folder. */
export async function saveBase(
  name: string,
  { shared, pod }: { shared: SharedResources; pod: SandboxPod },
): Promise<void> {
  const { bases } = shared;
  bases.assertValidName(name);
  if (bases.has(name)) return;
  const until = performance.now() + saveMs;
  const found = await pod.connect("scripts", {
    remainingMs: () => until - performance.now(),
    isAborted: () => false,
    folders: [],
  });
  if (!found) throw new Error("The sandbox was killed.");
  const { connection } = found;
  try {
    const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
    const argv = ["/bin/bash", "-c", baseScripts.packScript];
    await bases.add(name, async (path) => {
      const command = connection.start({ argv, env, folders: ["/"], stdin: false });
      const [stderr, { exitCode }] = await Promise.all([
        firstBytes(command.stderr, 1000),
        command.ended,
        pipeline(command.stdout, createWriteStream(path, { mode: 0o600 })),
      ]);
      if (exitCode !== 0)
        throw new Error(`Failed to save the base: ${stderr.toString().trim() || exitCode}.`);
    });
  } finally {
    await connection.endCommands(20_000);
  }
}
