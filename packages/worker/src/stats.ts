import { join } from "node:path";
import type { WorkerHarness } from "@outrider/contract/harness";
import type { WorkerStats } from "@outrider/contract/worker";
import type { BuildBases } from "./builds/build-bases.ts";
import { freeBytes } from "./free-space.ts";
import { hasProfile } from "./harnesses/acp/profiles.ts";
import type { HarnessInstaller } from "./harnesses/install/harness-installer.ts";
import type { Log } from "./log.ts";
import type { Repositories } from "./repositories/repository.ts";
import type { SandboxProvider } from "./sandboxes/sandbox.ts";

export type ErrorKind = keyof WorkerStats["errors"];

/** Counts errors since this worker started. Heartbeats report the counts; nothing else depends on them. */
export class ErrorCounts {
  readonly counts: Record<ErrorKind, number> = {
    sandbox: 0,
    model: 0,
    model_retry: 0,
    server_retry: 0,
    execution: 0,
    build: 0,
    stall: 0,
  };
  readonly lines = { warn: 0, error: 0 };

  add(kind: ErrorKind) {
    this.counts[kind]++;
  }

  /** Wraps a log so that its warnings and errors are counted and become visible in metrics. */
  countLines(log: Log): Log {
    return {
      info: (fields, message) => log.info(fields, message),
      warn: (fields, message) => {
        this.lines.warn++;
        log.warn(fields, message);
      },
      error: (fields, message) => {
        this.lines.error++;
        log.error(fields, message);
      },
    };
  }
}

interface StatsSources {
  folder: string;
  provider: Pick<SandboxProvider, "kind" | "describe" | "capabilities" | "count" | "listBases">;
  bases: Pick<BuildBases, "chunkBytes">;
  repositories: Pick<Repositories, "bytes">;
  harnessInstaller: Pick<HarnessInstaller, "list">;
  errorCounts: ErrorCounts;
  slotsUsed: number;
  acceptsWork: boolean;
}

/**
 * Collects the worker's current stats. This is fast, because cache sizes were measured when the caches were filled. A
 * value that cannot be read is omitted, because stats matter most for a worker with a broken disk.
 */
export async function collectStats(sources: StatsSources): Promise<WorkerStats> {
  const { folder, provider, bases, repositories, harnessInstaller, errorCounts, slotsUsed, acceptsWork } =
    sources;
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    slots_used: slotsUsed,
    accepts_runs: acceptsWork,
    sandbox: provider.kind,
    ...(provider.describe ? { sandbox_engine: provider.describe() } : {}),
    sandbox_controls: provider.capabilities(),
    sandboxes: provider.count(),
    memory_bytes: rss,
    heap_bytes: heapUsed,
    cpu_seconds: (user + system) / 1e6,
    disk_free_bytes: await freeBytesByName({
      data: folder,
      sandboxes: join(folder, "sandboxes"),
      repositories: join(folder, "repositories"),
    }),
    cache_bytes: {
      ...omitOnError("bases", () => provider.listBases().reduce((sum, { bytes }) => sum + bytes, 0)),
      chunks: bases.chunkBytes,
      ...omitOnError("mirrors", () => repositories.bytes()),
    },
    errors: { ...errorCounts.counts },
    log_lines: { ...errorCounts.lines },
    harnesses: await listHarnesses(harnessInstaller).catch(() => undefined),
  };
}

async function listHarnesses(installer: Pick<HarnessInstaller, "list">): Promise<WorkerHarness[]> {
  const problem = "workers of this version cannot execute it";
  return (await installer.list()).map((known) => (hasProfile(known.name) ? known : { ...known, problem }));
}

function omitOnError<Name extends string>(name: Name, read: () => number) {
  try {
    return { [name]: read() } as Record<Name, number>;
  } catch {
    return {};
  }
}

/** Measures each folder separately, because an operator may mount any of them on its own disk. */
async function freeBytesByName<Name extends string>(folders: Record<Name, string>) {
  const entries = await Promise.all(
    Object.entries<string>(folders).map(async ([name, folder]) => {
      const free = await freeBytes(folder);
      return free === undefined ? [] : [[name, free] as const];
    }),
  );
  return Object.fromEntries(entries.flat()) as Partial<Record<Name, number>>;
}
