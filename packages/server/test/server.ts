import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { readConfig } from "../src/config.ts";
import { addUser } from "../src/engine/operations/bootstrap.ts";
import { startServer } from "../src/main.ts";
import { type Db, openDb } from "../src/store/connection/db.ts";

export interface Reply {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  body: any;
  text: string;
}

export interface CallOptions {
  body?: unknown;
  /** Another key than the first admin's; null for none. */
  key?: string | null;
  headers?: Record<string, string>;
}

export interface TestServer {
  origin: string;
  /** The one-time link that the first start prints. */
  firstLink: string;
  base: string;
  key: string;
  databaseUrl: string;
  dataDir: string;
  db: Db;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  user(email: string, role?: "admin" | "member"): Promise<string>;
  stop(options?: { keepDatabase: boolean }): Promise<void>;
  /** Drops the database after `stop({ keepDatabase: true })`. */
  drop(): Promise<void>;
}

/** Creates a database in the PostgreSQL of this test run and returns its URL. */
export async function testDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const postgres = inject("postgres");
  const name = `test_${randomBytes(6).toString("hex")}`;
  const admin = openDb(postgres, { connections: 1 });
  await admin`create database ${admin(name)}`;
  const { user, password, host, port } = postgres;
  return {
    url: `postgres://${user}:${encodeURIComponent(password)}@/${name}?host=${host}&port=${port}`,
    async drop() {
      await admin`drop database ${admin(name)} with (force)`;
      await admin.end();
    },
  };
}

/** Starts the real service on its own database. Tests call it over HTTP. */
export async function testServer(settings: Record<string, string> = {}): Promise<TestServer> {
  const database = await testDatabase();
  const dataDir = settings.OUTRIDER_DATA_DIR ?? (await mkdtemp(join(tmpdir(), "outrider-test-")));
  const environment = {
    DATABASE_URL: database.url,
    OUTRIDER_DATA_DIR: dataDir,
    OUTRIDER_PORT: "0",
    OUTRIDER_LOG_LEVEL: "silent",
    OUTRIDER_REQUESTS_PER_MINUTE: "1000000",
    OUTRIDER_CREATIONS_PER_MINUTE: "1000000",
    OUTRIDER_FAILURES_PER_MINUTE: "1000000",
    ...settings,
  };
  const server = await startServer(readConfig({}, environment));
  const key = (await readFile(join(dataDir, "key"), "utf8")).trim();
  const db = openDb(database.url, { connections: 4 });
  const base = `${server.origin}/api/v1`;
  const drop = async () => {
    await db.end();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return {
    origin: server.origin,
    firstLink: server.firstLink as string,
    base,
    key,
    databaseUrl: database.url,
    dataDir,
    db,
    async call(method, path, { body, key: other, headers = {} } = {}) {
      const used = other === undefined ? key : other;
      const response = await fetch(path.startsWith("http") ? path : base + path, {
        method,
        headers: {
          ...(used === null ? {} : { authorization: `Bearer ${used}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "");
      return {
        status: response.status,
        headers: response.headers,
        body: isJson ? JSON.parse(text) : undefined,
        text,
      };
    },
    user: (email, role = "member") =>
      addUser(db, { email, display_name: email.split("@")[0] as string, role }),
    async stop({ keepDatabase } = { keepDatabase: false }) {
      await server.stop();
      if (!keepDatabase) await drop();
    },
    drop,
  };
}
