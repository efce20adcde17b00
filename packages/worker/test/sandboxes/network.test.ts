import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { inMs, makeRoot, run, silent, until } from "./sandbox-support.ts";

const { root, remove } = makeRoot();
let provider: SandboxProvider;

const open = (options: Partial<OpenOptions> = {}) =>
  provider.open({ id: randomUUID(), deadline: inMs(120_000), label: {}, ...options });

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
});

afterAll(async () => {
  await provider?.stop();
  await remove();
});

const signal = new AbortController().signal;
const readAll = "timeout 10 bash -c 'cat < /dev/tcp/127.0.0.1/3128'";

describe("a sandbox with network", () => {
  test("reaches the caller's listener at 127.0.0.1:3128 and nothing else", async () => {
    const host = createServer((socket) => socket.end("the host")).listen(0, "127.0.0.1");
    await until(() => host.listening);
    const { port } = host.address() as { port: number };
    const sandbox = await open({ network: (connection) => void connection.end("hello from outside\n") });
    expect((await run(sandbox, readAll)).stdout).toBe("hello from outside\n");
    expect((await run(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1")).stdout.trim()).toBe("lo");
    for (const address of [`127.0.0.1/${port}`, "1.1.1.1/80", "169.254.169.254/80"]) {
      const attempt = await run(sandbox, `timeout 5 bash -c 'cat < /dev/tcp/${address}'`);
      expect(attempt).toMatchObject({ exitCode: 1, stdout: "" });
    }
    host.close();
    await sandbox.close();
  });

  test("has its own listener, separate from other sandboxes", async () => {
    const sandboxes = await Promise.all(
      ["one", "two", "three"].map((name) => open({ network: (connection) => void connection.end(name) })),
    );
    const answers = await Promise.all(sandboxes.map((sandbox) => run(sandbox, readAll)));
    expect(answers.map(({ stdout }) => stdout)).toEqual(["one", "two", "three"]);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  });

  test("has listeners at other loopback addresses", async () => {
    const forward = (address: string, port: number) => ({
      ...{ address, port },
      accept: (connection: Duplex) => void connection.end(`${address} ${port}`),
    });
    const sandbox = await open({ forwards: [forward("127.0.0.2", 5432), forward("127.0.0.3", 5432)] });
    const read = (address: string) => run(sandbox, `cat < /dev/tcp/${address}/5432`);
    expect((await read("127.0.0.2")).stdout).toBe("127.0.0.2 5432");
    expect((await read("127.0.0.3")).stdout).toBe("127.0.0.3 5432");
    expect((await read("127.0.0.1")).stderr).toContain("refused");
    await sandbox.close();
  });

  test("has the proxy in its environment, unlike a sandbox without network", async () => {
    const names = "env | grep -iE 'proxy|ssh' | sort";
    const sandbox = await open({ network: () => {} });
    const { stdout } = await run(sandbox, names);
    const url = "http://127.0.0.1:3128";
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"]) {
      expect(stdout).toContain(`${name}=${url}\n`);
    }
    expect(stdout).toContain("NO_PROXY=localhost,127.0.0.1,::1\n");
    expect(stdout).toContain("NODE_USE_ENV_PROXY=1\n");
    expect(stdout).toContain("GIT_SSH_COMMAND=ssh");
    await sandbox.close();
    const without = await open();
    expect((await run(without, names)).stdout).toBe("");
    expect((await run(without, readAll)).stderr).toContain("refused");
    await without.close();
  });

  test("tunnels ssh through the proxy and prints why a connection was refused", async () => {
    const heads: string[] = [];
    const network = (socket: Duplex) => {
      const head: Buffer[] = [];
      socket.on("data", function whole(chunk: Buffer) {
        head.push(chunk);
        const text = Buffer.concat(head).toString();
        if (!text.includes("\r\n\r\n")) return;
        socket.off("data", whole);
        heads.push(text);
        if (text.includes("refused.example")) {
          socket.end("HTTP/1.1 403 Forbidden\r\n\r\nnot on the list\n");
        } else {
          socket.write("HTTP/1.1 200 OK\r\n\r\nserver speaks first\n");
          socket.once("data", (data) => socket.end(`you said ${data}`));
        }
      });
    };
    const sandbox = await open({ network });
    const { stdout } = await run(sandbox, "/etc/outrider-connect git.example 22 < <(echo hi; sleep 60)");
    expect(stdout).toBe("server speaks first\nyou said hi\n");
    expect(heads[0]).toBe("CONNECT git.example:22 HTTP/1.1\r\nHost: git.example:22\r\n\r\n");
    const refused = await run(sandbox, "/etc/outrider-connect refused.example 22 < /dev/null");
    expect(refused).toMatchObject({ exitCode: 1, stdout: "" });
    expect(refused.stderr).toContain("not on the list");
    await sandbox.close();
  });
});

describe("commands of one sandbox", () => {
  test("reach each other on localhost, but not another sandbox", async () => {
    const [sandbox, other] = [await open(), await open()];
    const server = await sandbox.spawn("exec python3 -m http.server 8000 --bind 127.0.0.1", { signal });
    await sandbox.write("index.html", Buffer.from("served"));
    const get =
      "exec 3<> /dev/tcp/127.0.0.1/8000 && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && tail -n 1 <&3";
    await until(async () => (await run(sandbox, get)).stdout === "served");
    expect((await run(other, get)).stderr).toContain("refused");
    await server.kill();
    expect((await run(sandbox, get)).stderr).toContain("refused");
    await sandbox.close();
    await other.close();
  });
});

describe("a spawned process", () => {
  test("uses stdin and stdout while other commands run, and ends with its stdin", async () => {
    const sandbox = await open();
    const cat = await sandbox.spawn("cat; echo bye >&2; exit 3", { signal, env: { X: "1" } });
    const [out, err] = [collect(cat.stdout), collect(cat.stderr)];
    cat.stdin.write("ping\n");
    await until(() => out() === "ping\n");
    expect((await run(sandbox, "echo beside")).stdout).toBe("beside\n");
    cat.stdin.end("pong\n");
    expect(await cat.ended).toEqual({ exitCode: 3 });
    await until(() => out() === "ping\npong\n" && err() === "bye\n");
    await sandbox.close();
  });

  test("is killed by kill, by its signal, by close and at the deadline", async () => {
    const killed = { exitCode: null, signal: "SIGKILL" };
    const controller = new AbortController();
    const sandbox = await open();
    const spawned = await sandbox.spawn("sleep 1000", { signal });
    await spawned.kill();
    expect(await spawned.ended).toEqual(killed);
    const aborted = await sandbox.spawn("sleep 1000", { signal: controller.signal });
    controller.abort();
    expect(await aborted.ended).toEqual(killed);
    const last = await sandbox.spawn("sleep 1000", { signal });
    await sandbox.close();
    expect(await last.ended).toEqual(killed);
    const short = await open({ deadline: inMs(1000) });
    expect(await (await short.spawn("sleep 1000", { signal })).ended).toEqual(killed);
    await short.close();
  });
});

test("a mounted folder of the host is read-only by default", async () => {
  const sandbox: Sandbox = await open({
    mounts: [{ source: "/etc/ssl", target: "/opt/given" }],
  });
  expect((await run(sandbox, "ls -A /opt/given")).stdout).not.toBe("");
  expect((await run(sandbox, "touch /opt/given/x")).stderr).toContain("Read-only");
  await sandbox.close();
});

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}
