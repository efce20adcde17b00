import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openDb } from "@outrider/server/store/connection/db";
import { call, keyOf, run, serve } from "../../../../e2e/process.ts";
import { testDatabase } from "../../../server/test/server.ts";

/** Starts server and worker as separate processes and gives access to their logs, database and folders. */
export async function startService(allowAddresses: string[], settings: Record<string, string> = {}) {
  const database = await testDatabase();
  const folder = mkdtempSync(join(tmpdir(), "outrider-secrets-"));
  chmodSync(folder, 0o711);
  const server = await serve({
    dataDir: join(folder, "server"),
    environment: {
      DATABASE_URL: database.url,
      OUTRIDER_WORKERS: "0",
      OUTRIDER_LOG_LEVEL: "trace",
      ...settings,
    },
  });
  const key = keyOf(server.dataDir);
  const api = (method: string, path: string, body?: unknown) =>
    call(method, `${server.origin}/api/v1${path}`, { key, ...(body === undefined ? {} : { body }) });
  const workerKey: string = (await api("POST", "/keys", { name: "w", type: "worker" })).body.key;
  const worker = run(
    [
      "worker",
      "--server",
      server.origin,
      "--data-dir",
      join(folder, "worker"),
      "--allow-addresses",
      allowAddresses.join(),
    ],
    { OUTRIDER_WORKER_KEY: workerKey },
  );
  await worker.waitForOutput("ready for runs");
  return {
    ...{ key, workerKey, folder, api, origin: server.origin },
    async read(path: string, accept = "*/*"): Promise<string> {
      const headers = { authorization: `Bearer ${key}`, accept };
      return await (await fetch(`${server.origin}/api/v1${path}`, { headers })).text();
    },
    logs: () => [server, worker].map((process) => process.stdout() + process.stderr()).join(""),
    /** All rows of all tables, by table, with bytes in hex. */
    async tables(): Promise<Record<string, string>> {
      const db = openDb(database.url, { connections: 1 });
      const names =
        await db`select table_name from information_schema.tables where table_schema = current_schema()`;
      const texts: Record<string, string> = {};
      for (const { table_name } of names) {
        const rows = await db`select t::text as row from ${db(table_name)} t`;
        texts[table_name] = rows.map(({ row }) => row).join("\n");
      }
      await db.end();
      return texts;
    },
    async stop() {
      await worker.end("SIGTERM");
      await server.end("SIGTERM");
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a host that records everything it receives. */
export async function startListener() {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    request.on("data", (data) => received.push(String(data)));
    response.end("heard\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { received, port: (server.address() as AddressInfo).port, close: () => server.close() };
}

/** The encodings of a secret. In some of them, a character at each end depends on the neighboring text. */
export function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  return [secret, bytes.toString("hex"), encodeURIComponent(secret), ...base64];
}

/** Lists the secrets that a text contains in any encoding, even across line breaks and patch markers. */
export function findSecrets(text: string, secrets: Record<string, string>): string[] {
  const normalized = text.replaceAll(/\\n|\r?\n[-+ ]?/g, "").toLowerCase();
  return Object.entries(secrets)
    .filter(([, secret]) =>
      encodingsOf(secret).some((encoded) => normalized.includes(encoded.replaceAll("\n", "").toLowerCase())),
    )
    .map(([name]) => name);
}

const gzip = Buffer.from([0x1f, 0x8b]);

/** Lists the files below a folder that contain a secret, also in compressed form. */
export function findSecretsInFiles(folder: string, secrets: Record<string, string>): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (statSync(path).size > 50e6) return [];
    const data = readFileSync(path);
    const texts = [data, ...(data.subarray(0, 2).equals(gzip) ? [gunzipSync(data)] : [])];
    return findSecrets(texts.map((content) => content.toString("latin1")).join("\n"), secrets).map(
      (name) => `${name} in ${path}`,
    );
  });
}
