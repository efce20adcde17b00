import { createServer } from "node:net";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { run, until } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, serveText, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

/** Connections of commands to the worker and to each other. */
export function testNetwork(place: Place): void {
  describePlace("network", place, defineTests);
}

const readAll = "timeout 10 bash -c 'cat < /dev/tcp/127.0.0.1/3128'";

function defineTests(getFixture: () => Fixture): void {
  describe("a sandbox with network", () => {
    test("reaches the caller's listener at 127.0.0.1:3128 and nothing else", async () => {
      const host = createServer((socket) => socket.end("the host")).listen(0, "127.0.0.1");
      await until(() => host.listening);
      const { port } = host.address() as { port: number };
      const sandbox = await getFixture().open({
        network: (connection) => void connection.end("hello from outside\n"),
      });
      expect((await run(sandbox, readAll)).stdout).toBe("hello from outside\n");
      const interfaces = (await run(sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1")).stdout
        .trim()
        .split(/\s+/);
      expect(interfaces).toEqual(["lo", ...(getFixture().system.pod?.interfaces ?? [])]);
      for (const address of [`127.0.0.1/${port}`, "1.1.1.1/80", "169.254.169.254/80"]) {
        const attempt = await run(sandbox, `timeout 5 bash -c 'cat < /dev/tcp/${address}'`);
        expect(attempt).toMatchObject({ exitCode: 1, stdout: "" });
      }
      host.close();
      await sandbox.close();
    });

    test("has its own listener, separate from other sandboxes", async () => {
      const sandboxes = await Promise.all(
        ["one", "two", "three"].map((name) =>
          getFixture().open({ network: (connection) => void connection.end(name) }),
        ),
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
      const sandbox = await getFixture().open({
        forwards: [forward("127.0.0.2", 5432), forward("127.0.0.3", 5432)],
      });
      const read = (address: string) => run(sandbox, `cat < /dev/tcp/${address}/5432`);
      expect((await read("127.0.0.2")).stdout).toBe("127.0.0.2 5432");
      expect((await read("127.0.0.3")).stdout).toBe("127.0.0.3 5432");
      expect((await read("127.0.0.1")).stderr).toContain("refused");
      await sandbox.close();
    });

    test("has the proxy in its environment, unlike a sandbox without network", async () => {
      const names = "env | grep -iE 'proxy|ssh' | sort";
      const sandbox = await getFixture().open({ network: () => {} });
      const { stdout } = await run(sandbox, names);
      const url = "http://127.0.0.1:3128";
      for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"]) {
        expect(stdout).toContain(`${name}=${url}\n`);
      }
      expect(stdout).toContain("NO_PROXY=localhost,127.0.0.1,::1\n");
      expect(stdout).toContain("NODE_USE_ENV_PROXY=1\n");
      expect(stdout).toContain("GIT_SSH_COMMAND=ssh");
      await sandbox.close();
      const without = await getFixture().open();
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
      const sandbox = await getFixture().open({ network });
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
      const [sandbox, other] = [await getFixture().open(), await getFixture().open()];
      const server = await sandbox.spawn(serveText(8000, "served"), { signal });
      const get = "cat < /dev/tcp/127.0.0.1/8000";
      await until(async () => (await run(sandbox, get)).stdout === "served\n");
      expect((await run(other, get)).stderr).toContain("refused");
      await server.kill();
      expect((await run(sandbox, get)).stderr).toContain("refused");
      await sandbox.close();
      await other.close();
    });
  });
}
