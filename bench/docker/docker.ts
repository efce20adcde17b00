import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseExceptions } from "../../packages/worker/src/egress/exceptions.ts";
import { openDockerProvider } from "../../packages/worker/src/sandboxes/docker/docker-provider.ts";
import { openEngine } from "../../packages/worker/src/sandboxes/docker/engine/connect.ts";
import type { SandboxImage, SandboxProvider } from "../../packages/worker/src/sandboxes/sandbox.ts";
import { canRunEngines, startDocker } from "../../packages/worker/test/docker/test-engine.ts";
import { pullSystemImage } from "../../packages/worker/test/images/pull-system-image.ts";
import { systemLayer } from "../../packages/worker/test/images/system-image.ts";
import { type BenchResult, compare, interleave } from "../support/compare.ts";
import {
  COMMAND,
  openSandbox,
  requireDone,
  runInSandbox,
  timeOfFirstCommand,
  timesOfCommands,
} from "../support/sandbox-use.ts";
import { createBareContainer, execBare } from "./bare-container.ts";

/**
 * Measures what a sandbox costs in addition to a container of the same image in the same engine: opening one up to the end of
 * its first command, and a further command in an open one. The baseline is a bare container without any limits, with calls to
 * the engine and nothing else. Docker stores its data on the disk, as it does in production.
 */

const OPEN_TURNS = 10;
const COMMAND_TURNS = 10;
const LIMIT = 0.7;

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
    const subject = async () => [await timeOfFirstCommand(() => openSandboxWith(provider, image))];
    const baseline = async () => [await timeOfFirstCommand(() => openContainer(docker, imageId))];
    results.push(
      await compare({
        ...{ name: "docker: open and first command", limit: LIMIT },
        ...interleave({ turns: OPEN_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
  }
  if (only === undefined || only === "command") {
    const sandbox = await openSandboxWith(provider, image);
    const container = await openContainer(docker, imageId);
    const subject = () => timesOfCommands(sandbox.run);
    const baseline = () => timesOfCommands(container.run);
    results.push(
      await compare({
        ...{ name: "docker: further command", limit: LIMIT },
        ...interleave({ turns: COMMAND_TURNS, quantile: 0.5, subject, baseline }),
      }),
    );
    await Promise.all([sandbox.end(), container.end()]);
  }
  return results;
}

async function openSandboxWith(provider: SandboxProvider, image: SandboxImage) {
  const sandbox = await openSandbox(provider, image);
  return { run: () => runInSandbox(sandbox), end: () => sandbox.close() };
}

async function openContainer(docker: Parameters<typeof createBareContainer>[0], image: string) {
  const container = await createBareContainer(docker, image);
  await container.start();
  const run = async () => requireDone(await execBare(container, COMMAND));
  return { run, end: () => container.remove({ force: true }) };
}
