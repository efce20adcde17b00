import { join } from "node:path";
import type { WorkerFigures } from "@outrider/contract/worker";
import { freeBytes } from "./free-space.ts";
import type { Repositories } from "./repositories/repositories.ts";
import type { SandboxProvider } from "./sandboxes/sandbox.ts";

export type Mishap = keyof WorkerFigures["errors"];

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What has gone wrong since this worker began. Heartbeats tell it; nothing else depends on it. */
export class Mishaps {
  readonly counts: Record<Mishap, number> = {
    sandbox: 0,
    model: 0,
    model_retry: 0,
    server_retry: 0,
    execution: 0,
    build: 0,
  };
  readonly lines = { warn: 0, error: 0 };

  add(mishap: Mishap) {
    this.counts[mishap]++;
  }

  /** The same log, whose warnings and errors are counted: so everything that is only logged is seen from outside too. */
  counting(log: Log): Log {
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

interface Parts {
  folder: string;
  provider: Pick<SandboxProvider, "count" | "listBases">;
  repositories: Pick<Repositories, "bytes">;
  mishaps: Mishaps;
  slotsUsed: number;
  takesWork: boolean;
}

/**
 * How the worker fares now. Nothing here takes long: what is large was measured when it came. What cannot be told is left
 * out, since a worker whose disk is broken is looked at most.
 */
export async function measure(parts: Parts): Promise<WorkerFigures> {
  const { folder, provider, repositories, mishaps, slotsUsed, takesWork } = parts;
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    slots_used: slotsUsed,
    takes_work: takesWork,
    sandboxes: provider.count(),
    memory_bytes: rss,
    heap_bytes: heapUsed,
    cpu_seconds: (user + system) / 1e6,
    disk_free_bytes: await freeOn({
      data: folder,
      sandboxes: join(folder, "sandboxes"),
      repositories: join(folder, "repositories"),
    }),
    cache_bytes: {
      ...told("bases", () => provider.listBases().reduce((sum, { bytes }) => sum + bytes, 0)),
      ...told("mirrors", () => repositories.bytes()),
    },
    errors: { ...mishaps.counts },
    log_lines: { ...mishaps.lines },
  };
}

function told<Name extends string>(name: Name, figure: () => number) {
  try {
    return { [name]: figure() } as Record<Name, number>;
  } catch {
    return {};
  }
}

/** An operator may have put one of them on a disk of its own. */
async function freeOn<Name extends string>(folders: Record<Name, string>) {
  const found = await Promise.all(
    Object.entries<string>(folders).map(async ([name, folder]) => {
      const free = await freeBytes(folder);
      return free === undefined ? [] : [[name, free] as const];
    }),
  );
  return Object.fromEntries(found.flat()) as Partial<Record<Name, number>>;
}
