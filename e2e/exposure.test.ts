import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test, vi } from "vitest";
import { testDatabase } from "../packages/server/test/server.ts";
import { get, shown } from "../packages/server/test/tls-support.ts";
import {
  keyOf,
  makeDataDir,
  outrider,
  patience,
  type Running,
  removeDataDir,
  root,
  run,
  type Serving,
  serve,
} from "./process.ts";

vi.setConfig({ testTimeout: 120_000 });

const folders: string[] = [];
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  for (const folder of folders) removeDataDir(folder);
});

function folder(): string {
  folders.push(makeDataDir());
  return folders.at(-1) as string;
}

async function database(): Promise<string> {
  const { url, drop } = await testDatabase();
  closers.push(drop);
  return url;
}

function ending<T extends Running>(running: T): T {
  closers.push(() => running.end("SIGTERM"));
  return running;
}

describe("a server with a certificate of its own making", () => {
  const dataDir = folder();
  const file = join(dataDir, "tls", "certificate.pem");
  let server: Serving;
  let key: string;
  const api = async (path: string, options = {}) => {
    const headers = { authorization: `Bearer ${key}` };
    const { status, text } = await get(`${server.origin}/api/v1${path}`, {
      ca: readFileSync(file),
      headers,
      ...options,
    });
    expect(status, text).toBeLessThan(300);
    return JSON.parse(text);
  };
  const cli = (args: string[], environment = {}) =>
    outrider(args, { OUTRIDER_BASE_URL: `${server.origin}/api/v1`, OUTRIDER_API_KEY: key, ...environment });

  test("says which one it is, and its own workers need not be told", async () => {
    const environment = { DATABASE_URL: await database(), OUTRIDER_TLS: "self-signed" };
    server = ending(await serve({ dataDir, environment }));
    key = keyOf(dataDir);
    expect(server.origin).toMatch(/^https:/);
    const { fingerprint } = await shown(server.origin);
    expect(server.stderr()).toContain(`SHA-256    ${fingerprint}`);
    const asked = await cli(["run", "SAY: over TLS", "--follow"], { NODE_EXTRA_CA_CERTS: file });
    expect(asked.stdout).toContain("over TLS");
    expect(asked.code).toBe(0);
  });

  test("is refused by clients that were not told to trust it, with the remedy", async () => {
    const { code, stderr } = await cli(["me"]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/self-signed certificate.*not trusted.*NODE_EXTRA_CA_CERTS=FILE/);
    expect(stderr).not.toContain("does the server run");
    const program = `import outrider; outrider.Outrider(base_url="${server.origin}/api/v1", api_key="${key}", max_retries=0).runs.list()`;
    const python = (environment = {}) =>
      promisify(execFile)(join(root, ".tools/python/bin/python"), ["-c", program], {
        env: { ...process.env, PYTHONPATH: join(root, "sdks/python/src"), ...environment },
      }).then(
        () => "",
        (error) => error.stderr as string,
      );
    expect(await python()).toMatch(/CERTIFICATE_VERIFY_FAILED.*not trusted: set SSL_CERT_FILE/s);
    expect(await python({ SSL_CERT_FILE: file })).toBe("");
  });

  test("is trusted by a worker that was given it, and by no other", async () => {
    const made = await cli(["key", "create", "rack", "--type", "worker", "--json"], {
      NODE_EXTRA_CA_CERTS: file,
    });
    expect(made.code, made.stderr).toBe(0);
    const OUTRIDER_WORKER_KEY = /orw_\w{20,}/.exec(made.stdout)?.[0] as string;
    const worker = (name: string, ...more: string[]) => {
      const args = [
        "worker",
        "--server",
        server.origin,
        "--name",
        name,
        "--data-dir",
        join(folder(), "w"),
        ...more,
      ];
      return ending(run(args, { OUTRIDER_WORKER_KEY }));
    };
    const stranger = worker("stranger");
    const friend = worker("friend", "--ca", file);
    await friend.says("ready for runs");
    const names = async () => (await api("/workers")).workers.map((one: { name: string }) => one.name);
    await vi.waitFor(async () => expect(await names()).toContain("friend"), patience);
    await stranger.says("the server's certificate is not trusted");
    expect(stranger.stdout()).toContain("--ca FILE");
    expect(await names()).not.toContain("stranger");
    await stranger.end("SIGKILL");
    await friend.end("SIGTERM");
  });

  test("takes SIGHUP for the word that its certificate has changed", async () => {
    const before = await shown(server.origin);
    const other = ending(
      await serve({
        dataDir: folder(),
        environment: { DATABASE_URL: await database(), OUTRIDER_TLS: "self-signed", OUTRIDER_WORKERS: "0" },
      }),
    );
    await promisify(execFile)("cp", ["-a", join(other.dataDir, "tls"), dataDir]);
    process.kill(server.pid, "SIGHUP");
    const theirs = await shown(other.origin);
    await vi.waitFor(async () => expect(await shown(server.origin)).toEqual(theirs), patience);
    expect(theirs).not.toEqual(before);
    expect((await api("/me")).key).toBeDefined();
  });

  test("is looked at by doctor, which says where it is broken", async () => {
    const environment = { OUTRIDER_TLS: "self-signed", OUTRIDER_DATA_DIR: dataDir };
    const { fingerprint } = await shown(server.origin);
    expect((await outrider(["doctor"], environment)).stdout).toContain(fingerprint);
    rmSync(join(dataDir, "tls", "key.pem"));
    const broken = await outrider(["doctor"], environment);
    expect(broken.stdout).toMatch(/!! {2}tls .*key\.pem cannot be read/);
    expect(broken.code).toBe(1);
  });
});

test("a start that would send keys in the clear is refused with the remedy", async () => {
  const { code, stderr } = await outrider(["serve", "--host", "0.0.0.0", "--data-dir", folder()]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/in the clear.*--tls self-signed.*--public-url https:.*--trust-proxy/);
});

test("only a declared proxy is believed about where a request came from", async () => {
  const addresses = async (environment: Record<string, string>) => {
    const url = await database();
    const server = await serve({
      dataDir: folder(),
      environment: { DATABASE_URL: url, OUTRIDER_WORKERS: "0", ...environment },
    });
    await get(`${server.origin}/healthz`, { headers: { "x-forwarded-for": "198.51.100.1, 203.0.113.7" } });
    await server.says('"operation":"health"');
    await server.end("SIGTERM");
    return /"operation":"health".*?"address":"([^"]+)"/.exec(server.stdout())?.[1];
  };
  expect(await addresses({})).toBe("127.0.0.1");
  expect(await addresses({ OUTRIDER_TRUST_PROXY: "10.0.0.0/8" })).toBe("127.0.0.1");
  // What stands before the proxy's own word was written by whoever asked.
  expect(await addresses({ OUTRIDER_TRUST_PROXY: "127.0.0.0/8" })).toBe("203.0.113.7");
});
