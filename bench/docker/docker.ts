import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseExceptions } from "../../packages/worker/src/egress/exceptions.ts";
import { openDockerProvider } from "../../packages/worker/src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../packages/worker/src/sandboxes/docker/engine/connect.ts";
import type { Sandbox, SandboxImage, SandboxProvider } from "../../packages/worker/src/sandboxes/sandbox.ts";
import { canRunEngines, startDocker } from "../../packages/worker/test/docker/test-engine.ts";
import { pullSystemImage } from "../../packages/worker/test/images/pull-system-image.ts";
import { systemLayer } from "../../packages/worker/test/images/system-image.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import { createBareContainer, execBare } from "./bare-container.ts";

/**
 * Measures what a sandbox costs in addition to a container of the same image in the same engine: opening one up to the end of
 * its first command, and a further command in an open one. The baseline is a bare container without any limits, with calls to
 * the engine and nothing else. Docker stores its data on the disk, as it does in production.
 */

const OPEN_TURNS = 10;
const COMMAND_TURNS = 10;
const COMMANDS_PER_TURN = 5;
const LIMIT = 0.7;
const COMMAND = "echo done";

export async function benchDocker(only?: string): Promise<BenchResult[]> {
  if (!canRunEngines) throw new Error("The benchmark starts a container engine, which needs root on Linux.");
  const folder = mkdtempSync(join(tmpdir(), "outrider-bench-docker-"));
  chmodSync(folder, 0o711);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const server = await startDocker({ isOnDisk: true });
  stack.defer(() => server.stop());
  const { docker } = await openEngine({ host: server.host });
  const provider = await openDockerProvider({
    ...{ root: join(folder, "root"), log: console, exceptions: parseExceptions("127.0.0.1") },
    docker: { engine: { host: server.host } },
  });
  stack.defer(() => provider.stop());
  const image = await pullSystemImage(provider, systemLayer(), { Env: ["PATH=/usr/bin:/bin"] });
  const imageId = image.layers[0] as string;

  const results: BenchResult[] = [];
  if (only === undefined || only === "open") {
    const subject = async () => [await timeOf(() => useSandbox(provider, image))];
    const baseline = async () => [await timeOf(() => useContainer(docker, imageId))];
    results.push(
      await compare({
        ...{ name: "docker: open and first command", limit: LIMIT },
        ...interleave({ turns: OPEN_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
  }
  if (only === undefined || only === "command") {
    const sandbox = await open(provider, image);
    const container = await createBareContainer(docker, imageId);
    await container.start();
    const subject = () => repeat(() => runInSandbox(sandbox));
    const baseline = () => repeat(async () => requireDone(await execBare(container, COMMAND)));
    results.push(
      await compare({
        ...{ name: "docker: further command", limit: LIMIT },
        ...interleave({ turns: COMMAND_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
    await Promise.all([sandbox.close(), container.remove({ force: true })]);
  }
  return results;
}

const open = (provider: SandboxProvider, image: SandboxImage): Promise<Sandbox> =>
  provider.open({
    ...{ id: randomUUID(), label: {}, image },
    deadline: process.hrtime.bigint() + 600_000_000_000n,
  });

interface Use {
  /** The time of the part that counts. */
  took: number;
  /** Removes what was used, which does not count. */
  end(): Promise<void>;
}

async function useSandbox(provider: SandboxProvider, image: SandboxImage): Promise<Use> {
  const startedAt = performance.now();
  const sandbox = await open(provider, image);
  await runInSandbox(sandbox);
  return { took: performance.now() - startedAt, end: () => sandbox.close() };
}

async function useContainer(docker: Parameters<typeof createBareContainer>[0], image: string): Promise<Use> {
  const startedAt = performance.now();
  const container = await createBareContainer(docker, image);
  await container.start();
  requireDone(await execBare(container, COMMAND));
  return { took: performance.now() - startedAt, end: () => container.remove({ force: true }) };
}

async function timeOf(use: () => Promise<Use>): Promise<number> {
  const { took, end } = await use();
  await end();
  return took;
}

async function runInSandbox(sandbox: Sandbox): Promise<void> {
  let output = "";
  const { signal } = new AbortController();
  await sandbox.exec(COMMAND, {
    ...{ signal, timeoutMs: 60_000 },
    onOutput: ({ data }) => {
      output += data;
    },
  });
  requireDone(output);
}

function requireDone(output: string): void {
  if (output !== "done\n") throw new Error(`Unexpected output: ${output}`);
}

async function repeat(run: () => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < COMMANDS_PER_TURN; n++) {
    const startedAt = performance.now();
    await run();
    times.push(performance.now() - startedAt);
  }
  return times;
}
