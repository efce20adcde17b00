import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { parseExceptions } from "../../packages/worker/src/egress/exceptions.ts";
import { serveEgress } from "../../packages/worker/src/egress/proxy.ts";
import { openLocalProvider } from "../../packages/worker/src/sandboxes/local/local-provider.ts";
import type {
  ExecOptions,
  OpenOptions,
  Sandbox,
  SandboxImage,
  SandboxProvider,
} from "../../packages/worker/src/sandboxes/sandbox.ts";
import { pullSystemImage } from "../../packages/worker/test/images/pull-system-image.ts";
import { systemLayer } from "../../packages/worker/test/images/system-image.ts";
import { type BenchResult, compare, median, type Sample } from "../support/compare.ts";

/**
 * Measures the cost of isolation: opening a sandbox with all controls (base, seccomp filter, control group, disk limit,
 * network), reading a file and running git, each in its own isolated command. The baseline does the same with one plain
 * bubblewrap over one plain overlay. `sandbox:image` measures the same in an image, which only a worker that is root can
 * use. Each sample starts after a pause, as on an idle worker. The time of many concurrent
 * sandboxes is printed in addition.
 */

const PER_ROUND = 12;
const PAUSE_MS = 200;
const CONCURRENT = 50;
const SEQUENTIAL = 100;
const TRACKED = "7/7";

/** Creates a repository with 50,000 files. */
const createRepository = `
git init -q . && git config user.name bench && git config user.email bench@example.org && git config gc.auto 0
for folder in $(seq 500); do mkdir $folder; for file in $(seq 100); do echo $folder > $folder/$file; done; done
git add . && git commit -qm all`;

const run = promisify(execFile);

export async function benchSandbox(only?: string): Promise<BenchResult[]> {
  const isRoot = process.getuid?.() === 0;
  return [
    ...(only === undefined || only === "host" ? [await benchHost()] : []),
    ...((only === undefined && isRoot) || only === "image" ? [await benchImage()] : []),
  ];
}

async function benchHost(): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-sandbox-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await openLocalProvider({ root: join(folder, "root"), log: console });
  stack.defer(() => provider.stop());
  for (const [control, capability] of Object.entries(provider.capabilities())) {
    console.log(
      `  ${control}: ${capability.enforced ? capability.by : `not enforced. ${capability.reason}`}`,
    );
  }
  const origin = await open(provider);
  await execute(origin, createRepository);
  await provider.saveBase(origin, "base");
  const lower = join(folder, "root", ".bases", "base", "workspace");

  const result = await compare({
    name: "sandbox",
    limit: 0.25,
    subject: () => sample(() => useSandbox(provider)),
    baseline: () => sample(() => useBaseline(folder, lower)),
  });
  await runConcurrently(provider);
  await checkForLeaks(provider, folder);
  return result;
}

/** The image comes from a real registry, and the repository is in the layer of a build. */
async function benchImage(): Promise<BenchResult> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-image-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await openLocalProvider({
    ...{ root: join(folder, "root"), exceptions: parseExceptions("127.0.0.1"), log: console },
  });
  stack.defer(() => provider.stop());
  const layer = systemLayer({}, { morePrograms: ["git"] });
  const image = await pullSystemImage(provider, layer, { Env: ["PATH=/usr/bin:/bin"] });
  const origin = await open(provider, { image });
  await execute(origin, createRepository, { withWorkerPrograms: true });
  await provider.saveBase(origin, "base");
  const lower = join(folder, "root", ".bases", "base", "root", "workspace");
  const result = await compare({
    name: "sandbox with an image",
    limit: 0.3,
    subject: () => sample(() => useSandbox(provider, image)),
    baseline: () => sample(() => useBaseline(folder, lower)),
  });
  await runConcurrently(provider, image);
  await checkForLeaks(provider, folder, image);
  return result;
}

const exceptions = parseExceptions("");
const serve = () =>
  serveEgress({
    policy: { mode: "allowlist", allow: ["example.com"] },
    exceptions,
    onRefused: () => {},
    log: console,
  });

const open = (provider: SandboxProvider, more: Partial<OpenOptions> = {}): Promise<Sandbox> =>
  provider.open({
    ...{ id: randomUUID(), label: {}, deadline: process.hrtime.bigint() + 600_000_000_000n },
    ...more,
  });

async function execute(
  sandbox: Sandbox,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<string> {
  let output = "";
  const { exitCode } = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 300_000,
    ...options,
    onOutput: ({ data }) => {
      output += data;
    },
  });
  if (exitCode !== 0) throw new Error(`${command.slice(0, 80)}: exit code ${exitCode}: ${output}`);
  return output;
}

/** Returns the milliseconds until git has finished, without closing the sandbox. */
async function useSandbox(provider: SandboxProvider, image?: SandboxImage): Promise<number> {
  const startedAt = performance.now();
  const egress = serve();
  const sandbox = await open(provider, {
    ...{ base: "base", network: egress.accept },
    ...(image ? { image } : {}),
  });
  const file = await sandbox.read(TRACKED, 1000);
  const head = await execute(sandbox, "git rev-parse HEAD");
  const took = performance.now() - startedAt;
  if (file.toString() !== "7\n" || !/^[0-9a-f]{40}\n$/.test(head))
    throw new Error(`Unexpected output: ${file} ${head}`);
  await sandbox.close();
  await egress.close();
  return took;
}

const baselineScript = `
mkdir upper work merged && mount -t overlay -o "lowerdir=$1,upperdir=upper,workdir=work$2" overlay merged
exec bwrap --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \\
  --symlink usr/lib64 /lib64 --proc /proc --dev /dev --bind merged /workspace --chdir /workspace \\
  /bin/bash -c "cat ${TRACKED}; git -c safe.directory=/workspace rev-parse HEAD"`;

async function useBaseline(folder: string, lower: string): Promise<number> {
  const cwd = join(folder, `baseline-${randomUUID()}`);
  mkdirSync(cwd);
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? [] : ["--user", "--map-root-user"];
  const args = ["--mount", ...user, "sh", "-c", baselineScript, "sh", lower, isRoot ? "" : ",userxattr"];
  const startedAt = performance.now();
  const { stdout } = await run("unshare", args, { cwd });
  const took = performance.now() - startedAt;
  if (!/^7\n[0-9a-f]{40}\n$/.test(stdout)) throw new Error(`Unexpected output: ${stdout}`);
  await rm(cwd, { recursive: true, force: true });
  return took;
}

async function sample(use: () => Promise<number>): Promise<Sample> {
  const times: number[] = [];
  for (let n = 0; n < PER_ROUND; n++) {
    await pause(PAUSE_MS);
    times.push(await use());
  }
  const p50 = median(times);
  return { perSecond: 1000 / p50, latency: { p50, p99: Math.max(...times) } };
}

async function runConcurrently(provider: SandboxProvider, image?: SandboxImage): Promise<void> {
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: CONCURRENT }, () => useSandbox(provider, image)));
  console.log(
    `  ${CONCURRENT} concurrent sandboxes: done after ${Math.round(performance.now() - startedAt)} ms`,
  );
}

/** Detects a leak in one of ten sandboxes; the pool's sandboxes come and go meanwhile. Memory is only printed, because the kernel frees it late. */
async function checkForLeaks(provider: SandboxProvider, folder: string, image?: SandboxImage): Promise<void> {
  await pause(PAUSE_MS);
  const before = await footprint(folder);
  for (let n = 0; n < SEQUENTIAL; n++) await useSandbox(provider, image);
  await pause(PAUSE_MS);
  const after = await footprint(folder);
  console.log(
    `  ${SEQUENTIAL} sequential sandboxes: before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`,
  );
  for (const name of ["mounts", "files", "folders", "loops"] as const) {
    if (after[name] > before[name] + SEQUENTIAL / 10)
      throw new Error(`${name} grew from ${before[name]} to ${after[name]}.`);
  }
}

async function footprint(folder: string) {
  const { stdout } = await run("du", ["-sm", folder]);
  const loops = readdirSync("/sys/block").map((name) => `/sys/block/${name}/loop/backing_file`);
  return {
    mounts: readFileSync("/proc/self/mountinfo", "utf8").split("\n").length,
    files: readdirSync("/proc/self/fd").length,
    folders: readdirSync(join(folder, "root")).length,
    loops: loops.filter((file) => readIfExists(file).startsWith(folder)).length,
    diskMb: Number.parseInt(stdout, 10),
    rssMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
  };
}

/** Loop devices of other programs may disappear at any time. */
function readIfExists(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
