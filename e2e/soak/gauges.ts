import { readdirSync, readFileSync } from "node:fs";
import { type Db, openDb } from "@outrider/server/store/db";
import type { Part } from "../torture/part.ts";
import type { World } from "./world.ts";

const EVERY_MS = 1_000;

/** What one thing measured at one moment. */
export interface Reading {
  what: string;
  at: number;
  value: number;
}

export interface Gauges {
  readings: Reading[];
  stop(): Promise<void>;
}

/** Looks at every process from outside, once a second, and asks the servers and the database. */
export function watchGauges(world: World): Gauges {
  const { servers, workers, client, pair } = world;
  const readings: Reading[] = [];
  const note = (what: string, value: number | undefined) => {
    if (value !== undefined) readings.push({ what, at: Date.now(), value });
  };
  async function look() {
    for (const part of [...servers, ...workers]) {
      note(`memory of ${part.name}, MB`, memoryOf(part));
      note(`file descriptors of ${part.name}`, descriptorsOf(part));
    }
    const told = await Promise.all(client.servers.map((url) => scrape(url, client.headers())));
    for (const [index, text] of told.entries())
      note(`heap of ${servers[index]?.name}, MB`, megabytes(valueIn(text, "nodejs_heap_size_used_bytes")));
    // Any server knows what workers have last said.
    const known = told.find((text) => text !== "") ?? "";
    for (const { name } of workers) note(`heap of ${name}, MB`, megabytes(heapOfWorker(known, name)));
    note("connections to PostgreSQL", await countConnections(pair.connection()));
  }
  let isOver = false;
  let looking = Promise.resolve();
  const ticker = setInterval(() => {
    if (!isOver) looking = looking.then(look).catch(() => {});
  }, EVERY_MS);
  return {
    readings,
    async stop() {
      isOver = true;
      clearInterval(ticker);
      await looking;
    },
  };
}

function memoryOf({ pid }: Part): number | undefined {
  const kilobytes = read(() => /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
}

function descriptorsOf({ pid }: Part): number | undefined {
  return read(() => readdirSync(`/proc/${pid}/fd`).length);
}

function read<T>(look: () => T): T | undefined {
  try {
    return look();
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

/** Undefined where the server does not answer now. */
export async function metric(
  url: string,
  headers: Record<string, string>,
  name: string,
): Promise<number | undefined> {
  return valueIn(await scrape(url, headers), name);
}

/** Nothing where the server does not answer now. */
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
