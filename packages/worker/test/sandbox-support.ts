import { chmodSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readProcess } from "../src/sandboxes/processes.ts";
import type { ExecOptions, ExecResult, Log, Sandbox } from "../src/sandboxes/sandbox.ts";

export const silent: Log = { warn: () => {} };
export const isRoot = process.getuid?.() === 0;

/** A folder for sandboxes. As root, other uids have to reach it, which a temporary folder forbids. */
export function makeRoot(): { root: string; remove(): Promise<void> } {
  const parent = mkdtempSync(join(tmpdir(), "outrider-sandbox-"));
  chmodSync(parent, 0o711);
  return { root: join(parent, "root"), remove: () => rm(parent, { recursive: true, force: true }) };
}

export function inMs(ms: number): bigint {
  return process.hrtime.bigint() + BigInt(ms) * 1_000_000n;
}

/** Runs a command and keeps its output, which is why it is only for tests. */
export async function run(
  sandbox: Sandbox,
  command: string,
  options: Partial<ExecOptions> = {},
): Promise<ExecResult & { stdout: string; stderr: string }> {
  const kept = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const result = await sandbox.exec(command, {
    signal: new AbortController().signal,
    timeoutMs: 20_000,
    onOutput: ({ stream, data }) => kept[stream].push(data),
    ...options,
  });
  const textOf = (chunks: Buffer[]) => Buffer.concat(chunks).toString();
  return { ...result, stdout: textOf(kept.stdout), stderr: textOf(kept.stderr) };
}

/** The pids of this host whose command line has the text in it. */
export function processesWith(text: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && commandLine(pid).includes(text));
}

/** Those that run `sleep` on the marker: the command has begun, while others may only carry its text. */
export function sleepersOf(marker: string): number[] {
  return processesWith(marker).filter((pid) => commandLine(pid).startsWith("sleep "));
}

/** Those that have got as far as the first program inside, which waits there to be let go. */
export function waitersOf(marker: string): number[] {
  return processesWith(marker).filter((pid) => commandLine(pid).startsWith("/bin/bash "));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

export function switchesOf(worker: number): number[] {
  return processesWith("switch-process.ts").filter((pid) => readProcess(pid)?.parent === worker);
}

/** Waits for a condition, not for a time. */
export async function until(condition: () => unknown, timeoutMs = 15_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition}`);
    await delay(5);
  }
}
