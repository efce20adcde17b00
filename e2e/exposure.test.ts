import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test, vi } from "vitest";
import { get, shown } from "../packages/server/test/http/tls-support.ts";
import { testDatabase } from "../packages/server/test/server.ts";
import { waitOptions } from "../scripts/tests/wait-options.ts";
import {
  keyOf,
  makeDataDir,
  outrider,
  type Running,
  removeDataDir,
  root,
  run,
  type Serving,
  serve,
} from "./process.ts";

const folders: string[] = [];
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  for (const folder of folders) removeDataDir(folder);
});

function newFolder(): string {
  folders.push(makeDataDir());
  return folders.at(-1) as string;
}

async function newDatabase(): Promise<string> {
  const { url, drop } = await testDatabase();
  closers.push(drop);
  return url;
}

function stopAtEnd<T extends Running>(running: T): T {
  closers.push(() => running.end("SIGTERM"));
  return running;
}

describe("a server with a self-signed certificate", () => {
  const dataDir = newFolder();
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

  test("prints the fingerprint, and its local workers trust it", async () => {
    const environment = { DATABASE_URL: await newDatabase(), OUTRIDER_TLS: "self-signed" };
    server = stopAtEnd(await serve({ dataDir, environment }));
    key = keyOf(dataDir);
    expect(server.origin).toMatch(/^https:/);
    const { fingerprint } = await shown(server.origin);
    expect(server.stderr()).toContain(`SHA-256    ${fingerprint}`);
    const result = await cli(["run", "SAY: over TLS", "--follow"], { NODE_EXTRA_CA_CERTS: file });
    expect(result.stdout).toContain("over TLS");
    expect(result.code).toBe(0);
  });

  test("is rejected by clients that do not trust it, with a remedy", async () => {
    const { code, stderr } = await cli(["me"]);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/self-signed certificate.*not trusted\. Set NODE_EXTRA_CA_CERTS/);
    expect(stderr).not.toContain("Check the server URL");
    const program = `import outrider; outrider.Outrider(base_url="${server.origin}/api/v1", api_key="${key}", max_retries=0).runs.list()`;
    const python = (environment = {}) =>
      promisify(execFile)(join(root, ".tools/python/bin/python"), ["-c", program], {
        env: { ...process.env, PYTHONPATH: join(root, "sdks/python/src"), ...environment },
      }).then(
        () => "",
        (error) => error.stderr as string,
      );
    expect(await python()).toMatch(/CERTIFICATE_VERIFY_FAILED.*not trusted\. Set SSL_CERT_FILE/s);
    expect(await python({ SSL_CERT_FILE: file })).toBe("");
  });

  test("is trusted only by a worker that was given the certificate", async () => {
    const created = await cli(["key", "create", "rack", "--type", "worker", "--json"], {
      NODE_EXTRA_CA_CERTS: file,
    });
    expect(created.code, created.stderr).toBe(0);
    const OUTRIDER_WORKER_KEY = /orw_\w{20,}/.exec(created.stdout)?.[0] as string;
    const worker = (name: string, ...extraArgs: string[]) => {
      const folder = join(newFolder(), "w");
      const readyFile = join(folder, "ready");
      mkdirSync(folder, { mode: 0o711 });
      writeFileSync(readyFile, "of an earlier process");
      const args = ["worker", "--server", server.origin, "--name", name, "--data-dir", folder, ...extraArgs];
      return { readyFile, ...stopAtEnd(run(args, { OUTRIDER_WORKER_KEY })) };
    };
    const untrusting = worker("untrusting");
    const trusting = worker("trusting", "--ca", file);
    await trusting.waitForOutput("ready for runs");
    const names = async () => (await api("/workers")).workers.map((listed: { name: string }) => listed.name);
    await vi.waitFor(async () => expect(await names()).toContain("trusting"), waitOptions);
    await untrusting.waitForOutput("server certificate is not trusted");
    expect(untrusting.stdout()).toContain("--ca FILE");
    expect(await names()).not.toContain("untrusting");
    // Only a worker whose claims the server accepts is ready.
    await vi.waitUntil(() => existsSync(trusting.readyFile), waitOptions);
    expect(readFileSync(trusting.readyFile, "utf8")).toBe("");
    expect(existsSync(untrusting.readyFile)).toBe(false);
    await untrusting.end("SIGKILL");
    await trusting.end("SIGTERM");
  });

  test("reloads its certificate on SIGHUP", async () => {
    const before = await shown(server.origin);
    const other = stopAtEnd(
      await serve({
        dataDir: newFolder(),
        environment: {
          DATABASE_URL: await newDatabase(),
          OUTRIDER_TLS: "self-signed",
          OUTRIDER_WORKERS: "0",
        },
      }),
    );
    await promisify(execFile)("cp", ["-a", join(other.dataDir, "tls"), dataDir]);
    process.kill(server.pid, "SIGHUP");
    const expected = await shown(other.origin);
    await vi.waitFor(async () => expect(await shown(server.origin)).toEqual(expected), waitOptions);
    expect(expected).not.toEqual(before);
    expect((await api("/me")).key).toBeDefined();
  });

  test("is checked by doctor, which reports a missing key file", async () => {
    const environment = { OUTRIDER_TLS: "self-signed", OUTRIDER_DATA_DIR: dataDir };
    const { fingerprint } = await shown(server.origin);
    expect((await outrider(["doctor"], environment)).stdout).toContain(fingerprint);
    rmSync(join(dataDir, "tls", "key.pem"));
    const broken = await outrider(["doctor"], environment);
    expect(broken.stdout).toMatch(/!! {2}tls .*key\.pem cannot be read/);
    expect(broken.code).toBe(1);
  });
});

test("serve refuses to send keys in clear text, and shows the remedy", async () => {
  const { code, stderr } = await outrider(["serve", "--host", "0.0.0.0", "--data-dir", newFolder()]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/in clear text.*--tls self-signed.*--public-url https:.*--trust-proxy/);
});

test("the server trusts X-Forwarded-For only from a declared proxy", async () => {
  const loggedAddress = async (environment: Record<string, string>) => {
    const url = await newDatabase();
    const server = await serve({
      dataDir: newFolder(),
      environment: { DATABASE_URL: url, OUTRIDER_WORKERS: "0", ...environment },
    });
    await get(`${server.origin}/healthz`, { headers: { "x-forwarded-for": "198.51.100.1, 203.0.113.7" } });
    await server.waitForOutput('"operation":"health"');
    await server.end("SIGTERM");
    return /"operation":"health".*?"address":"([^"]+)"/.exec(server.stdout())?.[1];
  };
  expect(await loggedAddress({})).toBe("127.0.0.1");
  expect(await loggedAddress({ OUTRIDER_TRUST_PROXY: "10.0.0.0/8" })).toBe("127.0.0.1");
  // The client can forge every entry except the last, which the proxy added.
  expect(await loggedAddress({ OUTRIDER_TRUST_PROXY: "127.0.0.0/8" })).toBe("203.0.113.7");
});
