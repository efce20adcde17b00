import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/main.ts";
import { openDb } from "../../src/store/connection/db.ts";
import { testDatabase } from "../server.ts";

let database: Awaited<ReturnType<typeof testDatabase>>;
let parent: string;
let dataDir: string;

beforeEach(async () => {
  database = await testDatabase();
  parent = await mkdtemp(join(tmpdir(), "outrider-test-"));
  dataDir = join(parent, "data");
});
afterEach(async () => {
  await database.drop();
  await rm(parent, { recursive: true });
});

const start = (settings: Record<string, string> = {}) =>
  startServer(
    readConfig(
      {},
      {
        DATABASE_URL: database.url,
        OUTRIDER_DATA_DIR: dataDir,
        OUTRIDER_PORT: "0",
        OUTRIDER_LOG_LEVEL: "silent",
        ...settings,
      },
    ),
  );

/** Starts a server, and signs in with the link that a first start prints. */
async function expectFirstStart() {
  const server = await start();
  try {
    const token = server.firstLink?.split("#token=")[1];
    const response = await fetch(`${server.origin}/api/v1/auth/link`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    expect([response.status, await response.json()]).toMatchObject([200, { role: "admin" }]);
    expect(existsSync(join(dataDir, "key"))).toBe(true);
  } finally {
    await server.stop();
  }
}

test("a first start on a port in use creates nothing, and the next one is the first again", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  await expect(start({ OUTRIDER_PORT: String(port) })).rejects.toThrow(`Port ${port} on 127.0.0.1`);
  other.close();
  expect(existsSync(dataDir)).toBe(false);
  const db = openDb(database.url, { connections: 1 });
  expect(await db`select from information_schema.tables where table_schema = 'public'`).toHaveLength(0);
  await db.end();
  await expectFirstStart();
});

test("a first start that fails later creates no user, and the next one prints the sign-in link", async () => {
  const [cert, key] = [join(parent, "certificate.pem"), join(parent, "key.pem")];
  await expect(start({ OUTRIDER_TLS_CERT: cert, OUTRIDER_TLS_KEY: key })).rejects.toThrow(cert);
  expect(await readdir(dataDir)).not.toContain("key");
  const db = openDb(database.url, { connections: 1 });
  expect(await db`select from users`).toHaveLength(0);
  await db.end();
  await expectFirstStart();
});
