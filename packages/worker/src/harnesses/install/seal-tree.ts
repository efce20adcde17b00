import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, lstat, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

/** The content of a folder. */
export interface TreeContent {
  /** The SHA-256 of the names, types and contents of all files. */
  sha256: string;
  bytes: number;
}

const HASHED_AT_ONCE_BYTES = 2 ** 20;

/** Hashes all files of a folder. Links are not followed. */
export async function hashTree(root: string, signal: AbortSignal): Promise<TreeContent> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const { path, name, stat } of walk(root, "")) {
    signal.throwIfAborted();
    if (stat.isSymbolicLink()) {
      hash.update(`${JSON.stringify([name, "link", await readlink(path)])}\n`);
    } else if (stat.isFile()) {
      const isExecutable = (stat.mode & 0o111) !== 0;
      hash.update(`${JSON.stringify([name, isExecutable, await hashFile(path, stat.size)])}\n`);
      bytes += stat.size;
    } else throw new Error(`${path} is neither a file nor a link.`);
  }
  return { sha256: hash.digest("hex"), bytes };
}

/** Lets every user read all files of a folder, whatever the umask of the process that created them. */
export async function makeReadable(root: string): Promise<void> {
  await chmod(root, 0o755);
  for await (const { path, stat } of walk(root, "", { withFolders: true })) {
    if (stat.isDirectory()) await chmod(path, 0o755);
    else if (stat.isFile()) await chmod(path, (stat.mode & 0o111) !== 0 ? 0o755 : 0o644);
  }
}

/** Lists all files and links of a folder, sorted by name in each folder. */
export async function* walk(
  root: string,
  prefix: string,
  { withFolders = false } = {},
): AsyncGenerator<{
  path: string;
  name: string;
  stat: Awaited<ReturnType<typeof lstat>> & { size: number; mode: number };
}> {
  for (const entry of (await readdir(join(root, prefix))).toSorted()) {
    const name = prefix === "" ? entry : `${prefix}/${entry}`;
    const path = join(root, name);
    const stat = await lstat(path);
    if (!stat.isDirectory()) yield { path, name, stat };
    else {
      if (withFolders) yield { path, name, stat };
      yield* walk(root, name, { withFolders });
    }
  }
}

async function hashFile(path: string, size: number): Promise<string> {
  const hash = createHash("sha256");
  if (size <= HASHED_AT_ONCE_BYTES) hash.update(await readFile(path));
  else await pipeline(createReadStream(path, { highWaterMark: HASHED_AT_ONCE_BYTES }), hash);
  return hash.digest("hex");
}

const anyNode = /^#![ \t]*\/usr\/bin\/env[ \t]+(?:-S[ \t]+)?node\b/;

/** Makes a JavaScript program start with this Node, because images may have none. Other files stay as they are. */
export async function setNode(path: string, node: string): Promise<void> {
  const text = await readFile(path, "latin1");
  if (anyNode.test(text)) await writeFile(path, text.replace(anyNode, `#!${node}`), "latin1");
}
