import { readdirSync, readFileSync } from "node:fs";
import { type Db, openDb } from "@outrider/server/store/connection/db";
import type { SupervisedProcess } from "../chaos/supervised-process.ts";
import type { Installation } from "./installation.ts";

const INTERVAL_MS = 1_000;

/** One measured value. */
export interface Reading {
  gauge: string;
  at: number;
  value: number;
}

export interface Gauges {
  readings: Reading[];
  stop(): Promise<void>;
}

/** Samples every process, the metrics of the servers and the connections of the database once a second. */
export function sampleGauges(installation: Installation): Gauges {
  const { servers, workers, client, postgres } = installation;
  const readings: Reading[] = [];
  const record = (gauge: string, value: number | undefined) => {
    if (value !== undefined) readings.push({ gauge, at: Date.now(), value });
  };
  async function sample() {
    for (const child of [...servers, ...workers]) {
      record(`memory of ${child.name}, MB`, memoryOf(child));
      record(`file descriptors of ${child.name}`, descriptorsOf(child));
    }
    const metrics = await Promise.all(client.servers.map((url) => scrape(url, client.headers())));
    for (const [index, text] of metrics.entries())
      record(`heap of ${servers[index]?.name}, MB`, megabytes(valueIn(text, "nodejs_heap_size_used_bytes")));
    // Every server exposes the latest stats of all workers.
    const workerMetrics = metrics.find((text) => text !== "") ?? "";
    for (const { name } of workers)
      record(`heap of ${name}, MB`, megabytes(heapOfWorker(workerMetrics, name)));
    record("connections to PostgreSQL", await countConnections(postgres.connection()));
  }
  let isStopped = false;
  let sampling = Promise.resolve();
  const ticker = setInterval(() => {
    if (!isStopped) sampling = sampling.then(sample).catch(() => {});
  }, INTERVAL_MS);
  return {
    readings,
    async stop() {
      isStopped = true;
      clearInterval(ticker);
      await sampling;
    },
  };
}

function memoryOf({ pid }: SupervisedProcess): number | undefined {
  const kilobytes = tryRead(() => /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
}

function descriptorsOf({ pid }: SupervisedProcess): number | undefined {
  return tryRead(() => readdirSync(`/proc/${pid}/fd`).length);
}

function tryRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function heapOfWorker(text: string, name: string): number | undefined {
  const id = new RegExp(`^outrider_worker_info\\{worker="([^"]+)",name="${name}"`, "m").exec(text)?.[1];
  return valueIn(text, `outrider_worker_heap_bytes\\{worker="${id}"\\}`);
}

function megabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 2 ** 20;
}

/** Returns undefined if the server does not answer. */
export async function readMetric(
  url: string,
  headers: Record<string, string>,
  name: string,
): Promise<number | undefined> {
  return valueIn(await scrape(url, headers), name);
}

/** Returns an empty string if the server does not answer. */
async function scrape(url: string, headers: Record<string, string>): Promise<string> {
  const signal = AbortSignal.timeout(5_000);
  const response = await fetch(`${url}/metrics`, { headers, signal }).catch(() => undefined);
  return response?.ok ? response.text() : "";
}

function valueIn(text: string, series: string): number | undefined {
  const value = new RegExp(`^${series} (\\S+)$`, "m").exec(text)?.[1];
  return value === undefined ? undefined : Number(value);
}

async function countConnections(connection: Parameters<typeof openDb>[0]): Promise<number | undefined> {
  const db: Db = openDb(connection, { connections: 1, applicationName: "soak" });
  try {
    const [row] = await db`
      select count(*)::int as count from pg_stat_activity where application_name like 'outrider%'`;
    return row?.count as number;
  } catch {
    return undefined;
  } finally {
    await db.end({ timeout: 1 });
  }
}
