import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openRemote, type Remote } from "../../src/mcp/remote.ts";
import { startHttp } from "./mcp-support.ts";

const folder = mkdtempSync(join(tmpdir(), "outrider-tls-"));
const trusted = getCACertificates("default");
const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
let certificate: string;
let port: number;

beforeAll(async () => {
  const [key, file] = [join(folder, "key"), join(folder, "certificate")];
  execFileSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"],
      ...[
        "-keyout",
        key,
        "-out",
        file,
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=DNS:right.test,IP:127.0.0.1",
      ],
    ],
    { stdio: "ignore" },
  );
  certificate = readFileSync(file, "utf8");
  const server = createServer({ key: readFileSync(key), cert: certificate }, (request, response) => {
    response.end(`${request.method} ${request.headers.host} on ${request.socket.remotePort}`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  port = (server.address() as AddressInfo).port;
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
  );
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  for (const close of closers.reverse()) close();
});

const get = async (remote: Remote, url: string) => {
  const signal = AbortSignal.timeout(10_000);
  const { status, body } = await remote.send({ method: "GET", url: new URL(url), headers: {}, signal });
  return `${status} ${await text(body)}`;
};

function open(exceptions: string) {
  const toUs = async () => {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const remote = openRemote({ exceptions: parseExceptions(exceptions), dial: toUs });
  closers.push(() => remote.close());
  return remote;
}

describe("over https", () => {
  test("a server with an untrusted certificate is rejected", async () => {
    setDefaultCACertificates(trusted);
    await expect(get(open(""), "https://right.test/")).rejects.toThrow(/certificate/);
  });

  test("a server is reached by name or address, with one connection for several requests", async () => {
    setDefaultCACertificates([...trusted, certificate]);
    const remote = open("");
    const [first, second] = [
      await get(remote, "https://right.test/"),
      await get(remote, "https://right.test/"),
    ];
    expect(first).toMatch(/^200 GET right\.test on \d+$/);
    expect(second).toBe(first);
    expect(await get(remote, `https://127.0.0.1:${port}/`)).toContain(`200 GET 127.0.0.1:${port}`);
  });

  test("a certificate for another name is rejected", async () => {
    setDefaultCACertificates([...trusted, certificate]);
    await expect(get(open(""), "https://wrong.test/")).rejects.toThrow(/wrong\.test/);
  });
});

test("plain http reaches only addresses that the operator allows", async () => {
  const http = await startHttp((_, response) => response.end("hello"));
  closers.push(http.stop);
  const dial = async () => {
    const socket = connect(http.port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const remote = (exceptions: string) => openRemote({ exceptions: parseExceptions(exceptions), dial });
  await expect(get(remote(""), "http://public.test/")).rejects.toThrow(
    "Outrider refused public.test:80: plain http can be read and changed in transit. Use its https URL.",
  );
  expect(http.received).toEqual([]);
  expect(await get(remote("public.test:80"), "http://public.test/")).toBe("200 hello");
});
