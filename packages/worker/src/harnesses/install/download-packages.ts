import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { Failure } from "@outrider/agent/failure";
import { describePackages } from "./check-packages.ts";
import { setLoader } from "./elf-loader.ts";
import type { HarnessRecord, InstallOptions } from "./installed-harness.ts";
import { completeLock } from "./lock-file.ts";
import { type NpmResult, runNpm } from "./npm.ts";
import type { PinnedHarness } from "./pinned-harnesses.ts";
import { runtimeLoader, runtimeNode } from "./runtime-bundle.ts";
import { hashTree, makeReadable, setNode, walk } from "./seal-tree.ts";

const run = promisify(execFile);
const INSTALL_MS = 15 * 60_000;
const MAX_BYTES = 4 * 2 ** 30;
/** Larger programs are not JavaScript. */
const MAX_SCRIPT_BYTES = 64 * 2 ** 20;

interface DownloadOptions extends Pick<InstallOptions, "signal" | "onProgress"> {
  name: string;
  pinned: PinnedHarness;
  lockText: string | undefined;
  platform: string;
  environment: Record<string, string>;
  timeoutMs?: number | undefined;
  maxBytes?: number | undefined;
  /** An open lock file. */
  lock: number;
}

interface Downloaded {
  record: Omit<HarnessRecord, "name" | "platform">;
  lockText: string;
}

/** Installs npm packages in a new folder, and prepares them for sandboxes with any image. */
export async function downloadPackages(folder: string, options: DownloadOptions): Promise<Downloaded> {
  const { pinned, signal, onProgress } = options;
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify({ private: true, dependencies: pinned.packages })}\n`,
  );
  const lockFile = join(folder, "package-lock.json");
  if (options.lockText === undefined) {
    onProgress?.({ step: "resolving", bytes: 0 });
    await npm(folder, ["install", "--package-lock-only"], options);
  }
  const lockText = options.lockText ?? completeLock(await readFile(lockFile, "utf8"), options.name);
  await writeFile(lockFile, lockText);
  await npm(folder, ["ci"], options);
  await rm(join(folder, ".npm"), { recursive: true, force: true });
  const modules = join(folder, "node_modules");
  await linkPrograms(modules, options);
  await prepareFiles(modules);
  await makeReadable(folder);
  const content = await hashTree(folder, signal);
  onProgress?.({ step: "checking", bytes: content.bytes });
  const names = [...new Set([pinned.agent, ...Object.keys(pinned.packages)])];
  const manifests = await Promise.all(names.map((name) => readManifest(modules, name)));
  const packages = Object.fromEntries(
    manifests.map(({ version }, index) => [names[index], String(version).slice(0, 128)]),
  );
  const version = String(manifests[0]?.[pinned.version_field ?? "version"] ?? "unknown").slice(0, 128);
  return { record: { version, packages, ...content }, lockText };
}

async function npm(folder: string, args: string[], options: DownloadOptions): Promise<void> {
  const { name, pinned, environment, signal, timeoutMs = INSTALL_MS, maxBytes = MAX_BYTES } = options;
  const result = await runNpm({
    ...{ args, cwd: folder, cache: join(folder, ".npm"), environment, signal, timeoutMs, lock: options.lock },
    async checkEverySecond() {
      const bytes = await measure(folder);
      options.onProgress?.({ step: "downloading", bytes });
      return bytes > maxBytes
        ? `the packages need more than ${Math.round(maxBytes / 2 ** 20)} MB`
        : undefined;
    },
  }).catch((error) => {
    if (error.code !== "ENOENT") throw error;
    return { ok: false, message: "npm is not on the worker's PATH.", code: "NO_NPM" };
  });
  if (result.ok) return;
  const { problem, remedy } = explain(result);
  const what = `${name} (${describePackages(pinned.packages)})`;
  throw new Failure("harness_failed", `The worker cannot install ${what}: ${problem} ${remedy}`);
}

/** Says what failed, and what the operator of the worker can do. */
function explain({ code, message, endReason }: NpmResult): { problem: string; remedy: string } {
  const offline =
    "Check npm's configuration on the worker (registry, proxy, cafile), or point OUTRIDER_HARNESS_FOLDER to a folder that `outrider harness install --folder` has filled.";
  if (endReason) return { problem: `npm was stopped, because ${endReason}.`, remedy: offline };
  if (code === "NO_NPM") return { problem: message, remedy: "Install the npm that comes with Node." };
  const problem = `npm failed${code ? ` with ${code}` : ""}: ${message.replace(/\.?$/, ".")}`;
  if (code === "EINTEGRITY")
    return {
      problem,
      remedy:
        "A package is not the one that Outrider was tested with. Check the npm registry and the proxy: one of them may have replaced or damaged it.",
    };
  if (code === "E404" || code === "ETARGET" || code === "ENOVERSIONS")
    return { problem, remedy: "Check that the npm registry of the worker has this version." };
  if (code === "E401" || code === "E403")
    return { problem, remedy: "Check the credentials for the npm registry in the worker's .npmrc." };
  if (code === "ENOSPC") return { problem, remedy: "Free disk space on the worker." };
  return { problem, remedy: offline };
}

async function measure(folder: string): Promise<number> {
  const { stdout } = await run("du", ["-sk", folder], { env: { PATH: "/usr/bin:/bin" }, timeout: 30_000 });
  return Number.parseInt(stdout, 10) * 1024;
}

/** Links the native programs in .bin. */
async function linkPrograms(modules: string, { name, pinned, platform }: DownloadOptions): Promise<void> {
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const musl = platform.endsWith("-musl") ? "-musl" : "";
  const bin = join(modules, ".bin");
  await mkdir(bin, { recursive: true });
  for (const [program, candidates] of Object.entries(pinned.programs)) {
    const paths = candidates.map((candidate) =>
      candidate.replace("{cpu}", process.arch).replace("{machine}", machine).replace("{musl}", musl),
    );
    const path = await findFirst(modules, paths);
    if (!path)
      throw new Failure(
        "harness_failed",
        `The worker cannot install ${name}: ${describePackages(pinned.packages)} has no program for ${platform}. Use a worker on another system, or set another version in harnesses.json.`,
      );
    await rm(join(bin, program), { force: true });
    await symlink(relative(bin, join(modules, path)), join(bin, program));
    await chmod(join(modules, path), 0o755);
  }
}

async function findFirst(modules: string, paths: string[]): Promise<string | undefined> {
  for (const path of paths) {
    const stat = await lstat(join(modules, path)).catch(() => undefined);
    if (stat?.isFile()) return path;
  }
  return undefined;
}

/** Makes the programs independent of the image's Node, loader and libraries. */
async function prepareFiles(modules: string): Promise<void> {
  const root = `${await realpath(modules)}/`;
  for (const name of await readdir(join(modules, ".bin"))) {
    const path = await realpath(join(modules, ".bin", name)).catch(() => undefined);
    if (!path?.startsWith(root)) continue;
    const stat = await lstat(path);
    if (stat.isFile() && stat.size < MAX_SCRIPT_BYTES) await setNode(path, runtimeNode);
  }
  for await (const { path, stat } of walk(modules, ""))
    if (stat.isFile() && (stat.mode & 0o111) !== 0) await setLoader(path, runtimeLoader);
}

async function readManifest(modules: string, name: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(modules, name, "package.json"), "utf8"));
}
