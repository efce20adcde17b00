import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openLocalProvider } from "../../packages/worker/src/sandboxes/local/local-provider.ts";
import type { Sandbox } from "../../packages/worker/src/sandboxes/sandbox.ts";
import { type BenchResult, compare, median, type Sample } from "../support/compare.ts";

/**
 * Measures a further command in an open sandbox, as an agent runs many of them. The baseline is the same command without
 * a sandbox.
 */

const PER_ROUND = 200;
const COMMAND = "echo done";

const run = promisify(execFile);

export async function benchCommand(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-command-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const provider = await openLocalProvider({ root: join(folder, "root"), log: console });
  stack.defer(() => provider.stop());
  const deadline = process.hrtime.bigint() + 600_000_000_000n;
  const sandbox = await provider.open({ id: randomUUID(), label: {}, deadline });
  stack.defer(() => sandbox.close());
  const result = await compare({
    name: "command",
    limit: 0.25,
    subject: () => sample(() => useSandbox(sandbox)),
    baseline: () => sample(async () => (await run("/bin/bash", ["-c", COMMAND], { cwd: folder })).stdout),
  });
  return [result];
}

async function useSandbox(sandbox: Sandbox): Promise<string> {
  let output = "";
  const { signal } = new AbortController();
  const onOutput = ({ data }: { data: Buffer }) => {
    output += data;
  };
  await sandbox.exec(COMMAND, { signal, timeoutMs: 60_000, onOutput });
  return output;
}

async function sample(use: () => Promise<string>): Promise<Sample> {
  const times: number[] = [];
  for (let n = 0; n < PER_ROUND; n++) {
    const startedAt = performance.now();
    const output = await use();
    times.push(performance.now() - startedAt);
    if (output !== "done\n") throw new Error(`Unexpected output: ${output}`);
  }
  times.sort((a, b) => a - b);
  const p50 = median(times);
  return { perSecond: 1000 / p50, latency: { p50, p99: times[Math.floor(times.length * 0.99)] as number } };
}
