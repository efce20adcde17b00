import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, statSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject, vi } from "vitest";
import { freePort } from "../../../../scripts/tests/free-port.ts";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type Db, sessionSettingNames } from "../../src/store/connection/db.ts";

export interface PgBouncer {
  /** Returns the address of a database through the pooler. */
  url(database: string): string;
  close(): Promise<void>;
}

export interface PgBouncerOptions {
  /** The number of connections to PostgreSQL for each database. */
  poolSize: number;
  /** More lines for the section `pgbouncer`. */
  settings?: string[];
}

/** Starts a real PgBouncer in transaction mode in front of the PostgreSQL of this test run. */
export async function startPgBouncer({ poolSize, settings = [] }: PgBouncerOptions): Promise<PgBouncer> {
  const { host, port: postgresPort, user, password } = inject("postgres");
  const folder = await mkdtemp(join(tmpdir(), "outrider-pgbouncer-"));
  const port = await freePort();
  const files = {
    "users.txt": `"${user}" "${password}"\n`,
    "pgbouncer.ini": [
      "[databases]",
      `* = host=${host} port=${postgresPort}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = scram-sha-256",
      `auth_file = ${join(folder, "users.txt")}`,
      "pool_mode = transaction",
      "max_client_conn = 200",
      `default_pool_size = ${poolSize}`,
      ...settings,
      "",
    ].join("\n"),
  };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { mode: 0o600 });
  // PgBouncer refuses to run as root. The owner of the socket's folder has access to the socket.
  const { uid, gid } = statSync(host);
  const isRoot = process.getuid?.() === 0;
  if (isRoot)
    for (const path of [folder, ...Object.keys(files).map((name) => join(folder, name))])
      chownSync(path, uid, gid);
  const system = "/usr/sbin/pgbouncer";
  const child = spawn(existsSync(system) ? system : "pgbouncer", [join(folder, "pgbouncer.ini")], {
    stdio: ["ignore", "ignore", "pipe"],
    ...(isRoot ? { uid, gid } : {}),
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const exited = once(child, "exit").then(([code]) => {
    throw new Error(`pgbouncer exited with ${code}: ${log}`);
  });
  exited.catch(() => {});
  await Promise.race([exited, vi.waitUntil(() => accepts(port), waitOptions)]);
  return {
    url: (database) => `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
    async close() {
      child.kill("SIGKILL");
      await exited.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Gives the role of a direct connection the settings that connections through a pooler need. */
export async function addRoleSettings(db: Db): Promise<void> {
  for (const name of sessionSettingNames)
    await db.unsafe(`do $$ begin execute format('alter role %I in database %I set ${name} = %L',
      current_user, current_database(), current_setting('${name}')); end $$`);
}

/** The database's name in an address. */
export function databaseName(url: string): string {
  return (/\/(\w+)\?/.exec(url) as RegExpExecArray)[1] as string;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
  });
}
