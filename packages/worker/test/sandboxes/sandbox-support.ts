import { chmodSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Log, silentLog } from "../../src/log.ts";
import { readProcess } from "../../src/sandboxes/local/process/processes.ts";
import type { ExecOptions, ExecResult, Sandbox } from "../../src/sandboxes/sandbox.ts";

export const silent: Log = silentLog;
export const isRoot = process.getuid?.() === 0;

/** Creates a folder for sandboxes. Other uids must be able to reach it, which a temporary folder forbids. */
export function makeRoot(): { root: string; remove(): Promise<void> } {
  const parent = mkdtempSync(join(tmpdir(), "outrider-sandbox-"));
  chmodSync(parent, 0o711);
  return { root: join(parent, "root"), remove: () => rm(parent, { recursive: true, force: true }) };
}

export function inMs(ms: number): bigint {
  return process.hrtime.bigint() + BigInt(ms) * 1_000_000n;
}

/** Runs a command and collects its output. */
export async function run(
  sandbox: Sandbox,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<ExecResult & { stdout: string; stderr: string }> {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const result = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onOutput: ({ stream, data }) => output[stream].push(data),
    ...options,
  });
  const textOf = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
  return { ...result, stdout: textOf(output.stdout), stderr: textOf(output.stderr) };
}

/** Returns the pids whose command line contains the text. */
export function processesWith(text: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && commandLine(pid).includes(text));
}

/** Returns the processes that run `sleep` with the marker: their command has started. */
export function sleepersOf(marker: string): number[] {
  return processesWith(marker).filter((pid) => commandLine(pid).startsWith("sleep "));
}

/** Returns the first processes of the sandboxes of the worker with this tag, as pids of the host. */
export function initsOf(tag: string): number[] {
  return processesWith(tag).filter((pid) => {
    const parent = readProcess(pid)?.parent ?? 0;
    return commandLine(pid).includes("outrider-init ") && commandLine(parent).includes("bwrap ");
  });
}

export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

export function watchdogsOf(worker: number): number[] {
  return processesWith("watchdog-process.ts").filter((pid) => readProcess(pid)?.parent === worker);
}

/** Waits for a condition, not for a time. */
export async function until(condition: () => unknown, timeoutMs = 40_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition}`);
    await delay(5);
  }
}
