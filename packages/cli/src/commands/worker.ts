import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { resolve } from "node:path";
import { logOutput } from "@outrider/server/log-output";
import { startWorker } from "@outrider/worker/worker";
import { Command } from "commander";
import { pino } from "pino";
import { version } from "../version.ts";

interface WorkerFlags {
  server: string;
  ca?: string;
  name: string;
  slots: string;
  dataDir: string;
  drainSeconds: string;
  allowAddresses: string;
  repositoryPaths: string;
  cacheGb: string;
  minFreeMb: string;
}

/** Its key comes from the environment: argument lists are for everybody to read. */
export const workerCommand = new Command("worker")
  .description("Take runs from a server and execute them. The worker key is read from OUTRIDER_WORKER_KEY.")
  .option("--server <url>", "where the server is", process.env.OUTRIDER_SERVER ?? "http://127.0.0.1:4000")
  .option(
    "--ca <file>",
    "a certificate to trust, PEM, besides the usual ones (OUTRIDER_CA)",
    process.env.OUTRIDER_CA,
  )
  .option("--name <name>", "how it is shown", hostname())
  .option("--slots <number>", "how many runs at once", process.env.OUTRIDER_WORKER_SLOTS ?? "16")
  .option("--data-dir <path>", "where sandboxes lie; no other worker's", ".outrider-worker")
  .option(
    "--drain-seconds <number>",
    "how long runs may go on after SIGTERM before they are handed back",
    "20",
  )
  .option(
    "--allow-addresses <list>",
    "of the inner network, what sandboxes, git and MCP calls may reach, as in 10.0.0.0/8, git.internal:22 (OUTRIDER_ALLOW_ADDRESSES)",
    process.env.OUTRIDER_ALLOW_ADDRESSES ?? "",
  )
  .option(
    "--repository-paths <list>",
    "folders of this machine below which file:/// repositories may lie, separated by colons (OUTRIDER_REPOSITORY_PATHS)",
    process.env.OUTRIDER_REPOSITORY_PATHS ?? "",
  )
  .option(
    "--cache-gb <number>",
    "disk for prepared environments; the least recently used go first (OUTRIDER_CACHE_GB)",
    process.env.OUTRIDER_CACHE_GB ?? "20",
  )
  .option(
    "--min-free-mb <number>",
    "with less free on the disk of its folder it takes no new runs (OUTRIDER_MIN_FREE_MB)",
    process.env.OUTRIDER_MIN_FREE_MB ?? "256",
  )
  .action(async (flags: WorkerFlags) => {
    const { server, name, slots, dataDir, drainSeconds } = flags;
    const key = process.env.OUTRIDER_WORKER_KEY;
    if (!key) throw new Error("OUTRIDER_WORKER_KEY is not set. An admin makes a worker key with POST /keys.");
    const folder = resolve(dataDir);
    mkdirSync(folder, { recursive: true, mode: 0o711 });
    const lines = {
      base: { worker: name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
    };
    const log = pino(lines, logOutput());
    const worker = await startWorker({
      url: server,
      key,
      ...(flags.ca ? { ca: flags.ca } : {}),
      name,
      version,
      slots: wholeNumber("--slots", slots),
      folder,
      drainMs: wholeNumber("--drain-seconds", drainSeconds) * 1_000,
      allowedAddresses: flags.allowAddresses,
      repositoryPaths: flags.repositoryPaths.split(":").filter(Boolean),
      cacheBytes: wholeNumber("--cache-gb", flags.cacheGb) * 2 ** 30,
      minFreeBytes: megabytes("--min-free-mb", flags.minFreeMb) * 2 ** 20,
      log,
    });
    log.info({ worker_id: worker.workerId, server }, "ready for runs");
    let isLeaving = false;
    const leave = async () => {
      if (isLeaving) return;
      isLeaving = true;
      await worker.drain();
      log.info({ worker_id: worker.workerId }, "drained");
      process.exit(0);
    };
    void worker.drained.then(leave);
    process.once("SIGTERM", leave);
    process.once("SIGINT", leave);
    // Started by `serve`: it goes when the server goes. One that was killed takes no more reports: its next start has a
    // worker of its own in this folder, so what runs here ends now.
    if (process.env.OUTRIDER_WORKER_ATTACHED) process.stdin.resume().once("end", () => process.exit(1));
  });

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) === 0)
    throw new Error(`${flag} must be a whole number above 0.`);
  return Number(text);
}

/** As the server reads the same variable: also 0, and parts of one. */
function megabytes(flag: string, text: string): number {
  if (!/^\d{1,9}(\.\d+)?$/.test(text)) throw new Error(`${flag} must be a number of megabytes, 0 or more.`);
  return Number(text);
}
