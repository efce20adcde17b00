import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { connect as tlsConnect } from "node:tls";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { createTlsDetector } from "../../src/api/http/tls/detect-tls.ts";
import { ensureSelfSigned } from "../../src/api/http/tls/self-signed.ts";
import { readConfig } from "../../src/config.ts";
import { startServer } from "../../src/main.ts";
import { type TestServer, testServer } from "../server.ts";
import { certificateFolder, get, shown } from "./tls-support.ts";

describe("a server with the operator's certificate", () => {
  const certificate = certificateFolder();
  let server: TestServer;

  beforeAll(async () => {
    certificate.renew();
    server = await testServer({ OUTRIDER_TLS_CERT: certificate.cert, OUTRIDER_TLS_KEY: certificate.key });
  });
  afterAll(async () => {
    await server?.stop();
    certificate.remove();
  });

  const metric = async (name: string) => {
    const headers = { authorization: `Bearer ${server.key}` };
    const { text } = await get(`${server.origin}/metrics`, { ca: certificate.pem(), headers });
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  const health = (options = {}) => get(`${server.origin}/healthz`, { ca: certificate.pem(), ...options });

  test("serves https and sends HSTS", async () => {
    expect(server.origin).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const { status, headers } = await health();
    expect(status).toBe(200);
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
  });

  test("is not trusted by clients that do not know the certificate", async () => {
    await expect(get(`${server.origin}/healthz`)).rejects.toThrow(/self-signed/);
  });

  test("supports TLS 1.3 and 1.2, and nothing older", async () => {
    expect((await shown(server.origin)).protocol).toBe("TLSv1.3");
    expect((await shown(server.origin, { maxVersion: "TLSv1.2" })).protocol).toBe("TLSv1.2");
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    await expect(shown(server.origin, old)).rejects.toThrow(/protocol|alert/i);
    const weak = { maxVersion: "TLSv1.2", ciphers: "AES128-SHA" } as const;
    await expect(shown(server.origin, weak)).rejects.toThrow(/handshake|alert/i);
  });

  test("performs one handshake per connection", async () => {
    const socket = tlsConnect({
      port: Number(new URL(server.origin).port),
      maxVersion: "TLSv1.2",
      ca: certificate.pem(),
    });
    await once(socket, "secureConnect");
    const failed = once(socket, "error", { signal: AbortSignal.timeout(waitOptions.timeout) });
    socket.renegotiate({}, () => {});
    // With what the other side is told next, it learns that nobody shakes hands with it again.
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(String((await failed)[0])).toMatch(/renegotiation/i);
    socket.destroy();
  });

  test("redirects browsers from http to https, and warns clients that sent a key in clear text", async () => {
    const plain = server.origin.replace("https:", "http:");
    const moved = await get(`${plain}/docs?a=b`);
    expect(moved.status).toBe(308);
    expect(moved.headers.location).toBe(`${server.origin}/docs?a=b`);
    const warned = await get(`${plain}/api/v1/me`, { headers: { authorization: `Bearer ${server.key}` } });
    expect(warned.status).toBe(400);
    expect(warned.text).toContain(
      `Use ${server.origin}. If you sent a key, it crossed the network in clear text`,
    );
    const post = await get(`${plain}/api/v1/agent/run`, { method: "POST" });
    expect(post.status).toBe(400);
  });

  test("closes the connection of a plain request that never ends", async () => {
    const sort = createTlsDetector(() => "https://runs.example", 300);
    const listener = createServer((socket) => sort(socket, () => socket.destroy())).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    socket.resume().write("GET / HTTP/1.1\r\nX-Slow: ");
    const dripping = setInterval(() => socket.write("a"), 50);
    await once(socket, "close", { signal: AbortSignal.timeout(waitOptions.timeout) });
    clearInterval(dripping);
    listener.close();
  });

  test("uses a renewed certificate without a restart or a dropped connection", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: certificate.pem() });
    const before = await shown(server.origin);
    const ports = new Set<unknown>();
    const note = async () => {
      const url = `${server.origin}/healthz`;
      const { status } = await get(url, { agent });
      ports.add(Object.values(agent.freeSockets)[0]?.[0]?.localPort);
      expect(status).toBe(200);
    };
    await note();
    certificate.renew();
    await vi.waitFor(async () => expect(await shown(server.origin)).not.toEqual(before), waitOptions);
    const { validToDate } = new X509Certificate(certificate.pem());
    expect(await metric("outrider_certificate_expires_timestamp_seconds")).toBe(
      validToDate.getTime() / 1_000,
    );
    expect(await metric("outrider_certificate_reload_failures_total")).toBe(0);
    await note();
    expect(ports.size).toBe(1);
    expect((await health()).status).toBe(200);
    agent.destroy();
  });

  test("keeps the current certificate while the new one is broken", async () => {
    const before = await shown(server.origin);
    const good = certificate.pem();
    writeFileSync(certificate.cert, "-----BEGIN CERTIFICATE-----\nbroken\n");
    const until = Date.now() + 3_000;
    await vi.waitUntil(async () => {
      expect(await shown(server.origin)).toEqual(before);
      return Date.now() > until;
    }, waitOptions);
    expect((await health({ ca: good })).status).toBe(200);
    certificate.renew();
    await vi.waitFor(async () => expect(await shown(server.origin)).not.toEqual(before), waitOptions);
    expect(await metric("outrider_certificate_reload_failures_total")).toBeGreaterThan(0);
  });
});

test.each([
  [
    "a file that is missing",
    (files: Files) => ({ ...files, key: `${files.key}.gone` }),
    /cannot be read: ENOENT/,
  ],
  [
    "a key of another certificate",
    (files: Files) => ({ ...files, key: other.key }),
    /does not match the private key/,
  ],
  [
    "a certificate for a key",
    (files: Files) => ({ ...files, key: files.cert }),
    /is not an unencrypted PEM private key/,
  ],
  ["a key for a certificate", (files: Files) => ({ ...files, cert: files.key }), /is not a PEM certificate/],
])("fails to start with %s and names the file", async (_name, change, message) => {
  const { cert, key } = change(one);
  await expect(testServer({ OUTRIDER_TLS_CERT: cert, OUTRIDER_TLS_KEY: key })).rejects.toThrow(message);
});

interface Files {
  cert: string;
  key: string;
}
const [one, other] = [certificateFolder(), certificateFolder()];
beforeAll(() => {
  one.renew();
  other.renew();
});
afterAll(() => {
  one.remove();
  other.remove();
});

describe("a server with a self-signed certificate", () => {
  test("covers this machine's names, keeps the certificate across restarts, and sends no HSTS", async () => {
    const first = await testServer({
      OUTRIDER_TLS: "self-signed",
      OUTRIDER_PUBLIC_URL: "https://runs.example",
    });
    const file = join(first.dataDir, "tls", "certificate.pem");
    const pem = readFileSync(file, "utf8");
    const { fingerprint256, subjectAltName, ca } = new X509Certificate(pem);
    expect(ca).toBe(false);
    for (const name of ["DNS:runs.example", "DNS:localhost", "IP Address:127.0.0.1", `DNS:${hostname()}`])
      expect(subjectAltName).toContain(name);
    expect(statSync(join(first.dataDir, "tls", "key.pem")).mode & 0o777).toBe(0o600);
    const { port } = new URL(first.origin);
    for (const name of ["localhost", "127.0.0.1"]) {
      const { status, headers } = await get(`https://${name}:${port}/healthz`, { ca: pem });
      expect(status).toBe(200);
      expect(headers["strict-transport-security"]).toBeUndefined();
    }
    await first.stop({ keepDatabase: true });
    const second = await startServer(
      readConfig(
        { tls: "self-signed", dataDir: first.dataDir, databaseUrl: first.databaseUrl },
        { OUTRIDER_PORT: "0", OUTRIDER_LOG_LEVEL: "silent" },
      ),
    );
    expect((await shown(second.origin)).fingerprint).toBe(fingerprint256);
    await second.stop();
    await first.drop();
  });

  test("creates a new one if it expires soon or a name is missing", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "outrider-self-signed-"));
    const files = await ensureSelfSigned(dataDir, ["a.example"]);
    const now = () => new X509Certificate(readFileSync(files.cert)).fingerprint256;
    const first = now();
    await ensureSelfSigned(dataDir, ["a.example"]);
    expect(now()).toBe(first);
    await ensureSelfSigned(dataDir, ["b.example"]);
    const second = now();
    expect(second).not.toBe(first);
    vi.setSystemTime(Date.now() + 340 * 86_400_000);
    await ensureSelfSigned(dataDir, ["b.example"]);
    expect(now()).not.toBe(second);
    vi.useRealTimers();
    await rm(dataDir, { recursive: true });
  });
});
