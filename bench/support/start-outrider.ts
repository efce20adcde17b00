import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { findEmbedded } from "../../packages/server/src/postgres/embedded-postgres.ts";
import type { PostgresConnection } from "../../packages/server/src/store/connection/db.ts";
import { endProcess, interruption } from "./child-process.ts";

export interface Outrider extends AsyncDisposable {
  origin: string;
  key: string;
  /** The connection to its PostgreSQL. */
  connection: PostgresConnection;
  pid: number;
}

interface ExternalDatabase {
  databaseUrl: string;
  /** A direct connection to the same database. */
  connection: PostgresConnection;
  settings?: Record<string, string>;
  /** The first server's key, for further servers. */
  key?: string;
}

/**
 * Starts the service as users do, with its own database, unless another one is given, and a new data folder. Its log goes to
 * a file.
 */
export async function startOutrider(external?: ExternalDatabase): Promise<Outrider> {
  const dataDir = await mkdtemp(join(tmpdir(), "outrider-bench-"));
  const log = openSync(join(dataDir, "stdout.log"), "w");
  const program = resolve(import.meta.dirname, "../../bin/outrider");
  const server = spawn(program, ["serve", "--workers", "0", "--port", "0", "--data-dir", dataDir], {
    env: {
      ...{ ...cleanEnvironment(), ...unlimited, ...external?.settings },
      ...(external ? { DATABASE_URL: external.databaseUrl } : {}),
    },
    stdio: ["ignore", log, "pipe"],
    signal: interruption.signal,
  });
  server.on("error", () => {}); // An error also ends the stream below.
  const stop = async () => {
    await endProcess(server);
    closeSync(log);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const output: string[] = [];
    for await (const line of createInterface(server.stderr as Readable)) {
      output.push(line);
      const origin = /is listening on (http:\S+)/.exec(line)?.[1];
      if (!origin) continue;
      server.stderr?.resume();
      const key = external?.key ?? (await readFile(join(dataDir, "key"), "utf8")).trim();
      const connection = external?.connection ?? (await findEmbedded(dataDir));
      if (!connection) throw new Error("Outrider is running, but its database is not.");
      return { origin, key, connection, pid: server.pid as number, [Symbol.asyncDispose]: stop };
    }
    throw new Error(`Outrider did not start:\n${output.join("\n")}`);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Raises the rate limits, so that the load of one key is not limited. The cost of counting stays the same. */
const unlimited = {
  OUTRIDER_REQUESTS_PER_MINUTE: "100000000",
  OUTRIDER_CREATIONS_PER_MINUTE: "100000000",
  OUTRIDER_MAX_STREAMS_PER_KEY: "5000",
};

/** Removes Outrider's variables, above all a DATABASE_URL that must not be filled with runs. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(OUTRIDER_|DATABASE_URL$)/.test(name)),
  );
}

type Access = Pick<Outrider, "origin" | "key">;

export async function post<T>({ origin, key }: Access, path: string, body: object): Promise<T> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const reply = await fetch(`${origin}/api/v1${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`POST ${path} returned ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as T;
}

export async function createWorkerKey(access: Access): Promise<string> {
  return (await post<{ key: string }>(access, "/keys", { name: "bench", type: "worker" })).key;
}
