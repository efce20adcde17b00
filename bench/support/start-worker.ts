import { spawn } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { endProcess, interruption } from "./child-process.ts";
import { cleanEnvironment, createWorkerKey, type Outrider } from "./start-outrider.ts";

export interface WorkerProcess extends AsyncDisposable {
  pid: number;
}

/** Starts a worker as users do. */
export async function startWorkerProcess(outrider: Outrider, slots: number): Promise<WorkerProcess> {
  const folder = await mkdtemp(join(tmpdir(), "outrider-bench-worker-"));
  await chmod(folder, 0o711); // Sandboxes run as another user, which needs access.
  const program = resolve(import.meta.dirname, "../../bin/outrider");
  const flags = ["--server", outrider.origin, "--slots", String(slots), "--data-dir", folder];
  const worker = spawn(program, ["worker", ...flags, "--drain-seconds", "1"], {
    env: { ...cleanEnvironment(), OUTRIDER_WORKER_KEY: await createWorkerKey(outrider) },
    stdio: ["ignore", "pipe", "inherit"],
    signal: interruption.signal,
  });
  worker.on("error", () => {}); // An error also ends the stream below.
  const stop = async () => {
    await endProcess(worker);
    await rm(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface(worker.stdout as Readable)) {
    if (!line.includes("ready for runs")) continue;
    worker.stdout?.resume();
    return { pid: worker.pid as number, [Symbol.asyncDispose]: stop };
  }
  await stop();
  throw new Error("The worker did not start.");
}
