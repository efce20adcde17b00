import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { openDb } from "@outrider/server/store/db";
import { call, keyOf, run, serve } from "../../../e2e/process.ts";
import { testDatabase } from "../../server/test/server.ts";

/** Server and worker as processes of their own, of which everything is kept: logs, database, folders. */
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
  await worker.says("ready for runs");
  return {
    ...{ key, workerKey, folder, api, origin: server.origin },
    async read(path: string, accept = "*/*"): Promise<string> {
      const headers = { authorization: `Bearer ${key}`, accept };
      return await (await fetch(`${server.origin}/api/v1${path}`, { headers })).text();
    },
    logs: () => [server, worker].map((each) => each.stdout() + each.stderr()).join(""),
    /** Every row of every table, by table; bytes are in hex. */
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

/** A host that must hear nothing: all that was ever sent to it. */
export async function startListener() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}`);
    request.on("data", (data) => heard.push(String(data)));
    response.end("heard\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { heard, port: (server.address() as AddressInfo).port, close: () => server.close() };
}

/** How a secret may be written, with what stands around it: some letter at each end may be lost. */
export function writings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  return [secret, bytes.toString("hex"), encodeURIComponent(secret), ...base64];
}

/** Which of the secrets, however written, stand in a text; line breaks and marks of patches do not hide one. */
export function found(text: string, secrets: Record<string, string>): string[] {
  const plain = text.replaceAll(/\\n|\r?\n[-+ ]?/g, "").toLowerCase();
  return Object.entries(secrets)
    .filter(([, secret]) =>
      writings(secret).some((each) => plain.includes(each.replaceAll("\n", "").toLowerCase())),
    )
    .map(([name]) => name);
}

const gzip = Buffer.from([0x1f, 0x8b]);

/** Which files below a folder hold one of the secrets, also where they are compressed. */
export function foundBelow(folder: string, secrets: Record<string, string>): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (statSync(path).size > 50e6) return [];
    const data = readFileSync(path);
    const texts = [data, ...(data.subarray(0, 2).equals(gzip) ? [gunzipSync(data)] : [])];
    return found(texts.map((each) => each.toString("latin1")).join("\n"), secrets).map(
      (name) => `${name} in ${path}`,
    );
  });
}
