/**
 * The archive of a base with an image. It is a tar archive:
 *
 *     outrider-system.json   the users of the system, and the home
 *     everything else        what native/system-changes packs in the container with the image: all changes to the system, and
 *                            all files of the workspace and the home, at the paths that commands see
 *
 * It is unpacked in a container with the same image. Which folders are volumes there does not matter.
 */
import { createReadStream } from "node:fs";
import { PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ByteReader } from "../../../images/byte-reader.ts";
import { BLOCK, paddingOf, parseHeader, writeHeader } from "../../../images/tar-header.ts";
import { sandboxFilesPath } from "../../files/programs.ts";
import { firstBytes } from "../../first-bytes.ts";
import type { Spawned } from "../../sandbox.ts";

const descriptionName = "outrider-system.json";
const maxDescriptionBytes = 2 ** 20;
/** In JSON, a byte can become six. */
const maxAccountBytes = 2 ** 17;
const notFoundCode = 44;
const notAFileCode = 45;

export interface ImageBase {
  /** The content of /etc/passwd. */
  accounts: string;
  /** The home that is complete in the archive. */
  home: string | undefined;
}

type Started = Pick<Spawned, "stdout" | "stderr" | "ended">;

/** Runs one of the worker's programs as root in the container with the image. */
type RunInImage<T extends Started> = (argv: string[]) => Promise<T>;

/**
 * Packs a base. `argv`: the command that packs the changes, which is known once the first program has run. Returns it, and the
 * archive, which must be read instead of its output.
 */
export async function packImageBase<T extends Started>(
  run: RunInImage<T>,
  { home, argv }: { home: string | undefined; argv(): string[] },
): Promise<{ packing: T; archive: Readable }> {
  const accounts = await readAccounts(run);
  const packing = await run(argv());
  const archive = new PassThrough();
  const description: ImageBase = { accounts, home };
  archive.write(describeEntry(JSON.stringify(description)));
  pipeline(packing.stdout, archive).catch(() => {}); // the exit code says whether it worked
  return { packing, archive };
}

async function readAccounts(run: RunInImage<Started>): Promise<string> {
  const command = await run([sandboxFilesPath, "read", String(maxAccountBytes), "/etc/passwd"]);
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, maxAccountBytes),
    firstBytes(command.stderr, 500),
    command.ended,
  ]);
  if (exitCode === notFoundCode || exitCode === notAFileCode) return "";
  if (exitCode !== 0) throw new Error(`Failed to read /etc/passwd: ${stderr.toString().trim() || exitCode}.`);
  return output.toString("latin1");
}

function describeEntry(text: string): Buffer {
  const data = Buffer.from(text);
  const header = writeHeader({
    ...{ type: "0", name: descriptionName, linkName: "", mode: 0o644, uid: 0, gid: 0, mtime: 0 },
    size: data.length,
  });
  return Buffer.concat([header, data, Buffer.alloc(paddingOf(data.length))]);
}

/** Reads the beginning of an archive. `changes` returns the rest. */
export async function readImageBase(path: string): Promise<ImageBase & { changes(): Readable }> {
  const file = createReadStream(path, { end: BLOCK + maxDescriptionBytes });
  try {
    const reader = new ByteReader(file);
    const header = parseHeader(await reader.readExactly(BLOCK));
    if (header?.name !== descriptionName || header.size > maxDescriptionBytes - BLOCK)
      throw new Error("it has no description");
    const { accounts, home } = JSON.parse((await reader.readExactly(header.size)).toString()) as ImageBase;
    const start = BLOCK + header.size + paddingOf(header.size);
    return { accounts, home, changes: () => createReadStream(path, { start }) };
  } catch (cause) {
    throw new Error("The archive of the build is invalid. Build the environment again.", { cause });
  } finally {
    file.destroy();
  }
}
