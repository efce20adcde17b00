import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { systemChangesPath } from "../../files/programs.ts";
import { firstBytes } from "../../first-bytes.ts";
import type { Spawned } from "../../sandbox.ts";

/** Streams the changes to the system of the image, as an archive. `argv`: as of `packImageBase`. Read or destroy it. */
export async function streamSystemChanges(
  run: (argv: string[]) => Promise<Spawned>,
  argv: () => string[],
): Promise<Readable> {
  await setUp(run);
  const packing = await run(argv());
  const archive = new PassThrough();
  archive.on("close", () => void packing.kill());
  const stream = async () => {
    const [stderr, { exitCode }] = await Promise.all([
      firstBytes(packing.stderr, 1000),
      packing.ended,
      pipeline(packing.stdout, archive, { end: false }),
    ]);
    if (exitCode !== 0)
      throw new Error(`Failed to read the changes to the system: ${stderr.toString().trim() || exitCode}.`);
    archive.end();
  };
  stream().catch((error: Error) => archive.destroy(error));
  return archive;
}

/** The first program in a container sets it up. */
async function setUp(run: (argv: string[]) => Promise<Spawned>): Promise<void> {
  const { stdout, stderr, ended } = await run([systemChangesPath, "mark"]);
  for (const stream of [stdout, stderr]) stream.resume();
  await ended;
}
