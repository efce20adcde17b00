import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { parseExceptions } from "../packages/worker/src/egress/exceptions.ts";
import { type Egress, serveEgress } from "../packages/worker/src/egress/proxy.ts";
import { openLocalProvider } from "../packages/worker/src/sandboxes/local.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../packages/worker/src/sandboxes/sandbox.ts";
import { compare, median, type Sample, type Verdict } from "./rounds.ts";

/**
 * What it costs to be safe: a sandbox with everything on (base, filter of system calls, control group, bounded disk,
 * network), opened, a file read and git asked, each by a command with walls of its own. Its anchor is one plain
 * bubblewrap over one plain overlay that does the same. Each sample on either side begins after a pause, as a run comes to a
 * worker that has nothing else under way; many at once are told beside.
 */

const PER_ROUND = 12;
const SETTLE_MS = 200;
const AT_ONCE = 50;
const IN_A_ROW = 100;
const TRACKED = "7/7";

/** 50,000 files. */
const make = `
git init -q . && git config user.name bench && git config user.email bench@example.org && git config gc.auto 0
for folder in $(seq 500); do mkdir $folder; for file in $(seq 100); do echo $folder > $folder/$file; done; done
git add . && git commit -qm all`;

const run = promisify(execFile);

export async function benchSandbox(): Promise<Verdict[]> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-sandbox-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await openLocalProvider({ root: join(folder, "root"), log: console });
  stack.defer(() => provider.stop());
  for (const [control, held] of Object.entries(provider.capabilities())) {
    console.log(`  ${control}: ${held.enforced ? held.by : `not enforced. ${held.reason}`}`);
  }
  const origin = await open(provider);
  await ask(origin, make);
  await provider.keepBase(origin, "base");
  const lower = join(folder, "root", ".bases", "base", "workspace");

  const verdict = await compare({
    name: "sandbox",
    limit: 0.25,
    subject: () => sample(() => useOne(provider)),
    anchor: () => sample(() => useAnchor(folder, lower)),
  });
  await manyAtOnce(provider);
  await manyInARow(provider, folder);
  return [verdict];
}

const exceptions = parseExceptions("");
const serve = (listener: Server) =>
  serveEgress({
    listener,
    policy: { mode: "allowlist", allow: ["example.com"] },
    exceptions,
    refused: () => {},
    log: console,
  });

const open = (provider: SandboxProvider, more: Partial<OpenOptions> = {}): Promise<Sandbox> =>
  provider.open({
    ...{ id: randomUUID(), label: {}, deadline: process.hrtime.bigint() + 600_000_000_000n },
    ...more,
  });

async function ask(sandbox: Sandbox, command: string): Promise<string> {
  let output = "";
  const { exitCode } = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 300_000,
    onOutput: ({ data }) => {
      output += data;
    },
  });
  if (exitCode !== 0) throw new Error(`${command.slice(0, 80)}: exit code ${exitCode}: ${output}`);
  return output;
}

/** Milliseconds until git has answered; closing comes after. */
async function useOne(provider: SandboxProvider): Promise<number> {
  const began = performance.now();
  let egress: Egress | undefined;
  const network = (listener: Server) => {
    egress = serve(listener);
  };
  const sandbox = await open(provider, { base: "base", network });
  const file = await sandbox.read(TRACKED, 1000);
  const head = await ask(sandbox, "git rev-parse HEAD");
  const took = performance.now() - began;
  if (file.toString() !== "7\n" || !/^[0-9a-f]{40}\n$/.test(head)) throw new Error(`wrong: ${file} ${head}`);
  await sandbox.close();
  await egress?.close();
  return took;
}

const anchorScript = `
mkdir upper work merged && mount -t overlay -o "lowerdir=$1,upperdir=upper,workdir=work$2" overlay merged
exec bwrap --unshare-all --die-with-parent --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib \\
  --symlink usr/lib64 /lib64 --proc /proc --dev /dev --bind merged /workspace --chdir /workspace \\
  /bin/bash -c "cat ${TRACKED}; git -c safe.directory=/workspace rev-parse HEAD"`;

async function useAnchor(folder: string, lower: string): Promise<number> {
  const cwd = join(folder, `anchor-${randomUUID()}`);
  mkdirSync(cwd);
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? [] : ["--user", "--map-root-user"];
  const args = ["--mount", ...user, "sh", "-c", anchorScript, "sh", lower, isRoot ? "" : ",userxattr"];
  const began = performance.now();
  const { stdout } = await run("unshare", args, { cwd });
  const took = performance.now() - began;
  if (!/^7\n[0-9a-f]{40}\n$/.test(stdout)) throw new Error(`wrong: ${stdout}`);
  await rm(cwd, { recursive: true, force: true });
  return took;
}

async function sample(use: () => Promise<number>): Promise<Sample> {
  const times: number[] = [];
  for (let n = 0; n < PER_ROUND; n++) {
    await pause(SETTLE_MS);
    times.push(await use());
  }
  const p50 = median(times);
  return { perSecond: 1000 / p50, latency: { p50, p99: Math.max(...times) } };
}

async function manyAtOnce(provider: SandboxProvider): Promise<void> {
  const began = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, () => useOne(provider)));
  console.log(`  ${AT_ONCE} at once: all done after ${Math.round(performance.now() - began)} ms`);
}

/** What a leak of one in ten would show: spares come and go meanwhile. Memory of the kernel's own is given back late, so it is only told. */
async function manyInARow(provider: SandboxProvider, folder: string): Promise<void> {
  await pause(SETTLE_MS);
  const before = await footprint(folder);
  for (let n = 0; n < IN_A_ROW; n++) await useOne(provider);
  await pause(SETTLE_MS);
  const after = await footprint(folder);
  console.log(`  ${IN_A_ROW} in a row: before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`);
  for (const name of ["mounts", "files", "folders", "loops"] as const) {
    if (after[name] > before[name] + IN_A_ROW / 10)
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
    loops: loops.filter((file) => readIfThere(file).startsWith(folder)).length,
    diskMb: Number.parseInt(stdout, 10),
    rssMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
  };
}

/** Other programs' loop devices come and go. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
