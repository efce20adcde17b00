/**
 * A Node for sandboxes with any image, also with images that have another libc or none: the worker's own Node with the
 * dynamic loader and the libraries that it uses on the worker's system. Native programs of agents use the same loader and
 * libraries. See docs/decisions/harnesses.md.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { acquireLock } from "../../repositories/lock.ts";
import { agentPaths } from "../../sandboxes/paths.ts";
import type { Bundle } from "../../sandboxes/sandbox.ts";
import { readLoader, setLoader } from "./elf-loader.ts";
import { UNUSED_MS } from "./prune-packages.ts";
import { hashTree, makeReadable } from "./seal-tree.ts";

const run = promisify(execFile);
const FORMAT = 1;

const target = agentPaths.agentRuntime;
export const runtimeNode = `${target}/node`;
export const runtimeLoader = { loader: `${target}/ld.so`, libraries: target };

/** Libraries of glibc that Node itself does not need, but programs or native modules of agents may. */
const moreLibraries = [
  ...["libpthread.so.0", "libdl.so.2", "librt.so.1", "libm.so.6", "libutil.so.1", "libresolv.so.2"],
  ...["libanl.so.1", "libnss_files.so.2", "libnss_dns.so.2"],
];

/** Prints the libraries that Node has loaded. Looking up the machine's network interfaces would take long. */
const listLibraries =
  "process.report.excludeNetwork = true; console.log(JSON.stringify(process.report.getReport().sharedObjects))";

/** Returns `glibc` or `musl`, which the native programs of agents must be built for. */
export async function libcOf(node = process.execPath): Promise<"glibc" | "musl"> {
  return (await readLoader(node))?.includes("musl") ? "musl" : "glibc";
}

/** Stores the runtime below `parent`, unless it is there already. */
export async function storeRuntime(parent: string, signal: AbortSignal): Promise<Bundle> {
  const files = await findFiles(process.execPath);
  const facts = await Promise.all(files.map(async ({ source }) => [source, await describeFile(source)]));
  const key = createHash("sha256")
    .update(JSON.stringify([FORMAT, facts]))
    .digest("hex")
    .slice(0, 32);
  const folder = join(parent, key);
  const record = `${folder}.sha256`;
  await mkdir(parent, { recursive: true });
  using _lock = await acquireLock(join(parent, "lock"), signal);
  if (!existsSync(folder)) {
    const draft = join(parent, "draft");
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft);
    for (const { source, name } of files) {
      await copyFile(source, join(draft, name));
      await chmod(join(draft, name), 0o755);
    }
    const isDynamic = files.some(({ name }) => name === "ld.so");
    if (isDynamic && !(await setLoader(join(draft, "node"), runtimeLoader)))
      throw new Error(`${process.execPath} cannot be given another dynamic loader.`);
    await makeReadable(draft);
    await chmod(parent, 0o755);
    await writeFile(record, (await hashTree(draft, signal)).sha256);
    await rename(draft, folder);
    await pruneRuntimes(parent);
  }
  const now = new Date();
  await utimes(record, now, now);
  return { id: await readFile(record, "utf8"), folder, target };
}

/** Removes the copies of earlier versions of Node that no turn has used for a week. The record has the time of the last use. */
async function pruneRuntimes(parent: string): Promise<void> {
  for (const file of await readdir(parent)) {
    const key = /^([0-9a-f]{32})\.sha256$/.exec(file)?.[1];
    if (key === undefined || Date.now() - (await stat(join(parent, file))).mtimeMs < UNUSED_MS) continue;
    await rm(join(parent, key), { recursive: true, force: true });
    await rm(join(parent, file));
  }
}

interface RuntimeFile {
  source: string;
  name: string;
}

async function findFiles(node: string): Promise<RuntimeFile[]> {
  const loader = await readLoader(node);
  const own = { source: await realpath(node), name: "node" };
  if (loader === undefined) return [own];
  const { stdout } = await run(node, ["-e", listLibraries], { env: {}, cwd: "/", timeout: 60_000 });
  const loaded: string[] = JSON.parse(stdout).filter(
    (path: string) => path.startsWith("/") && path !== loader,
  );
  const libc = loaded.find((path) => /^libc\.so/.test(basename(path)));
  const more = moreLibraries.map((name) => join(dirname(libc ?? "/lib/libc.so"), name)).filter(existsSync);
  const libraries = new Map([...loaded, ...more].map((path) => [basename(path), path]));
  return [
    own,
    { source: await realpath(loader), name: "ld.so" },
    ...[...libraries].map(([name, source]) => ({ source, name })),
  ];
}

async function describeFile(path: string): Promise<unknown[]> {
  const { size, mtimeMs } = await stat(path);
  return [size, mtimeMs];
}
