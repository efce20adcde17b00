import { rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { DEFAULT_POOL, PoolName, WorkerLabels } from "@outrider/contract/worker-pool";
import { type LogFormat, logFormats } from "@outrider/server/logging/log-output";
import { readTelemetrySettings } from "@outrider/telemetry/settings";
import { readExtraCertificates, trustCertificates } from "@outrider/worker/egress/extra-ca";
import { parseUpstreamProxy } from "@outrider/worker/egress/upstream-proxy";
import type { NetworkSettings } from "@outrider/worker/egress/worker-network";
import { parseSandboxChoice } from "@outrider/worker/sandboxes/choose-provider";
import { Supervisor } from "@outrider/worker/supervisor/supervisor";
import { Command } from "commander";
import { parseLabels } from "../input/labels.ts";
import { collect } from "../input/pairs.ts";
import {
  addSandboxOptions,
  readDockerSettings,
  readKubernetesSettings,
  type SandboxFlags,
} from "../sandbox-options.ts";
import { toolEnvironment } from "../tool-environment.ts";
import { version } from "../version.ts";
import { openWorkerLog } from "../worker-log.ts";

interface WorkerFlags extends SandboxFlags {
  server: string;
  ca?: string;
  name: string;
  slots: string;
  pool: string;
  label: string[];
  dataDir: string;
  drainSeconds: string;
  allowAddresses: string;
  extraCa?: string;
  repositoryPaths: string;
  cacheGb: string;
  harnessCache?: string;
  harnessFolder?: string;
  minFreeMb: string;
  stallSeconds: string;
  logFormat: string;
}

/**
 * The key and the upstream proxy, which may contain a password, come from the environment, because other users of the
 * machine can see arguments.
 */
const command = new Command("worker")
  .description(
    "Start a worker. It reads its key from OUTRIDER_WORKER_KEY, and the proxy of a company network from OUTRIDER_UPSTREAM_PROXY and OUTRIDER_NO_PROXY.",
  )
  .option(
    "--server <url>",
    "URL of the server (OUTRIDER_SERVER)",
    process.env.OUTRIDER_SERVER ?? "http://127.0.0.1:4000",
  )
  .option(
    "--ca <file>",
    "PEM file with an additional CA certificate to trust (OUTRIDER_CA)",
    process.env.OUTRIDER_CA,
  )
  .option("--name <name>", "name of the worker", hostname())
  .option(
    "--slots <number>",
    "number of concurrent runs (OUTRIDER_WORKER_SLOTS)",
    process.env.OUTRIDER_WORKER_SLOTS ?? "16",
  )
  .option(
    "--pool <name>",
    "pool of the worker, which runs and environments select with `worker_host` (OUTRIDER_WORKER_POOL)",
    process.env.OUTRIDER_WORKER_POOL || DEFAULT_POOL,
  )
  .option(
    "--label <name=value>",
    "label that runs and environments select with `worker_selector`, such as region=eu; without a value: true; repeatable (OUTRIDER_WORKER_LABELS, separated by commas)",
    collect,
    [] as string[],
  )
  .option(
    "--data-dir <path>",
    "directory for sandboxes; must not be shared with another worker",
    ".outrider-worker",
  );

export const workerCommand = addSandboxOptions(command)
  .option(
    "--drain-seconds <number>",
    "how long runs can continue after SIGTERM before they are returned to the queue",
    "20",
  )
  .option(
    "--allow-addresses <list>",
    "private addresses that sandboxes, git and MCP calls can reach, such as 10.0.0.0/8, git.internal:22 (OUTRIDER_ALLOW_ADDRESSES)",
    process.env.OUTRIDER_ALLOW_ADDRESSES ?? "",
  )
  .option(
    "--extra-ca <file>",
    "PEM file with CA certificates that the worker, git and sandboxes trust in addition (OUTRIDER_EXTRA_CA)",
    process.env.OUTRIDER_EXTRA_CA,
  )
  .option(
    "--repository-paths <list>",
    "directories that can contain file:/// repositories, separated by colons (OUTRIDER_REPOSITORY_PATHS)",
    process.env.OUTRIDER_REPOSITORY_PATHS ?? "",
  )
  .option(
    "--cache-gb <number>",
    "disk space for cached builds; the least recently used are removed first (OUTRIDER_CACHE_GB)",
    process.env.OUTRIDER_CACHE_GB ?? "20",
  )
  .option(
    "--harness-cache <path>",
    "directory for installed agents, which workers can share; default: in the data directory (OUTRIDER_HARNESS_CACHE)",
    process.env.OUTRIDER_HARNESS_CACHE,
  )
  .option(
    "--harness-folder <path>",
    "directory with agents from `outrider harness install --folder`, to download none (OUTRIDER_HARNESS_FOLDER)",
    process.env.OUTRIDER_HARNESS_FOLDER,
  )
  .option(
    "--min-free-mb <number>",
    "stop taking runs when less disk space is free (OUTRIDER_MIN_FREE_MB)",
    process.env.OUTRIDER_MIN_FREE_MB ?? "256",
  )
  .option(
    "--stall-seconds <number>",
    "restart a worker process that has been unresponsive for this long; 0 turns this off (OUTRIDER_STALL_SECONDS)",
    process.env.OUTRIDER_STALL_SECONDS ?? "10",
  )
  .option(
    "--log-format <format>",
    "human, json or auto: human on a terminal, otherwise json (OUTRIDER_LOG_FORMAT)",
    process.env.OUTRIDER_LOG_FORMAT || "auto",
  )
  .action(async (flags: WorkerFlags) => {
    const { server, name, slots, dataDir, drainSeconds } = flags;
    const key = process.env.OUTRIDER_WORKER_KEY;
    if (!key)
      throw new Error(
        "OUTRIDER_WORKER_KEY is not set. Ask an admin to create a key with `outrider key create --type worker`.",
      );
    const sandbox = parseSandboxChoice(
      flags.sandbox ?? (process.env.OUTRIDER_SANDBOX || "auto"),
      "--sandbox",
    );
    const network = networkSettings(flags);
    const format = logFormat(flags.logFormat);
    const { log } = openWorkerLog({ name, format });
    const telemetry = readTelemetrySettings((variable) => process.env[variable]);
    // Exists once the worker claims runs, for readiness probes.
    const readyFile = join(resolve(dataDir), "ready");
    await rm(readyFile, { force: true });
    // There is nothing to drain before the worker is ready. As the first process of a container, it would ignore the signals.
    const exit = (_: NodeJS.Signals, number: number) => process.exit(128 + number);
    for (const signal of signals) process.once(signal, exit);
    const supervisor = new Supervisor({
      program: { file: join(import.meta.dirname, "../worker-process.ts"), args: [format] },
      settings: {
        url: server,
        key,
        ...(flags.ca ? { ca: flags.ca } : {}),
        name,
        version,
        slots: positiveInteger("--slots", slots),
        pool: poolName(flags.pool),
        labels: workerLabels(flags.label, process.env.OUTRIDER_WORKER_LABELS),
        folder: resolve(dataDir),
        sandbox,
        docker: readDockerSettings(flags, process.env),
        kubernetes: readKubernetesSettings(flags, process.env),
        drainMs: positiveInteger("--drain-seconds", drainSeconds) * 1_000,
        allowedAddresses: flags.allowAddresses,
        ...network,
        repositoryPaths: flags.repositoryPaths.split(":").filter(Boolean),
        cacheBytes: positiveInteger("--cache-gb", flags.cacheGb) * 2 ** 30,
        ...(flags.harnessCache ? { harnessCache: resolve(flags.harnessCache) } : {}),
        ...(flags.harnessFolder ? { harnessFolder: resolve(flags.harnessFolder) } : {}),
        minFreeBytes: nonNegative("--min-free-mb", flags.minFreeMb, "megabytes") * 2 ** 20,
      },
      stallMs: nonNegative("--stall-seconds", flags.stallSeconds, "seconds") * 1_000,
      telemetry,
      onAccepted() {
        // The disk may be full.
        writeFile(readyFile, "").catch((error) => log.warn({ error }, "failed to create the ready file"));
      },
      onReady() {
        for (const signal of signals) {
          process.removeListener(signal, exit);
          process.once(signal, () => supervisor.drain());
        }
      },
      log,
    });
    // A worker that was started by `serve` exits when the server dies. It does not drain, because the next server
    // starts a new worker in the same directory.
    const isAttached = Boolean(process.env.OUTRIDER_WORKER_ATTACHED);
    if (isAttached) process.stdin.resume().once("end", () => process.exit(1));
    // After a failure, an open stdin would keep this process running.
    process.exit(await supervisor.run().finally(() => isAttached && process.stdin.destroy()));
  });

const signals = ["SIGTERM", "SIGINT"] as const;

/** Checks the settings here, because the supervisor's own calls to the server need the certificates too. */
function networkSettings({ extraCa }: WorkerFlags): NetworkSettings {
  const { OUTRIDER_UPSTREAM_PROXY: upstreamProxy, OUTRIDER_NO_PROXY: noProxy } = process.env;
  parseUpstreamProxy({ url: upstreamProxy, noProxy });
  if (extraCa) trustCertificates(readExtraCertificates(extraCa));
  return {
    ...(extraCa ? { extraCa: resolve(extraCa) } : {}),
    ...(upstreamProxy ? { upstreamProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
    toolEnvironment: toolEnvironment(process.env),
  };
}

function positiveInteger(flag: string, text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) === 0)
    throw new Error(`${flag} must be an integer greater than 0.`);
  return Number(text);
}

function poolName(text: string): string {
  const { success, error } = PoolName.safeParse(text);
  if (!success) throw new Error(`--pool ${error.issues[0]?.message}.`);
  return text;
}

/** Labels of the command line replace those of the variable one by one. */
function workerLabels(flags: string[], variable = ""): WorkerLabels {
  const labels = parseLabels([...variable.split(",").flatMap((label) => label.trim() || []), ...flags]);
  const { success, error } = WorkerLabels.safeParse(labels);
  if (success) return labels;
  const [issue] = error.issues;
  const name = issue?.path[0];
  const message = (issue?.code === "invalid_key" ? issue.issues[0] : issue)?.message;
  throw new Error(name === undefined ? `--label ${message}.` : `--label: \`${String(name)}\` ${message}.`);
}

function logFormat(text: string): LogFormat {
  const format = logFormats.find((known) => known === text);
  if (!format) throw new Error("--log-format must be auto, human or json.");
  return format;
}

/** Parses a number in the same way as the server does. Accepts 0 and fractions. */
function nonNegative(flag: string, text: string, unit: string): number {
  if (!/^\d{1,9}(\.\d+)?$/.test(text)) throw new Error(`${flag} must be a number of ${unit}, 0 or more.`);
  return Number(text);
}
