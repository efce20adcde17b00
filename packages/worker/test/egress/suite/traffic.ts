import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { waitOptions } from "../../../../../scripts/tests/wait-options.ts";
import { until } from "../../sandboxes/sandbox-support.ts";
import { closeLater, openTunnel, readToEnd, send, serve } from "../egress-support.ts";
import { describeProxy, type ProxyAccess, type StartProxy } from "./proxy-access.ts";

/** Large transfers, and connections that end early or are too many. */
export function testTraffic(access: ProxyAccess): void {
  describeProxy("traffic", access, defineTests);
}

const megabyte = Buffer.alloc(2 ** 20, "x");
const size = 100 * megabyte.length;

/** Writes as fast as the socket accepts and counts the bytes. */
async function pour(socket: NodeJS.WritableStream, counter = { written: 0 }): Promise<void> {
  while (counter.written < size) {
    counter.written += megabyte.length;
    if (!socket.write(megabyte)) await once(socket as Socket, "drain");
  }
  socket.end();
}

async function drain(socket: NodeJS.ReadableStream): Promise<number> {
  let read = 0;
  for await (const chunk of socket) read += chunk.length;
  return read;
}
function plain(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1" });
  closeLater(() => socket.destroy());
  return socket;
}

/** Resolves when the value has changed and then stayed the same for a while. */
async function untilStable(read: () => number): Promise<void> {
  let [last, since] = [0, performance.now()];
  await until(() => {
    const now = read();
    if (now !== last) [last, since] = [now, performance.now()];
    return last > 0 && performance.now() - since > 300;
  });
}

function defineTests(startProxy: StartProxy): void {
  describe("100 MiB", () => {
    test("pass in both directions of a tunnel at once and are counted", async () => {
      const received = Promise.withResolvers<number>();
      const port = await serve(
        createServer({ allowHalfOpen: true }, (socket) => {
          void pour(socket);
          received.resolve(drain(socket));
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      const [, down] = await Promise.all([pour(socket), drain(socket)]);
      expect(down).toBe(size);
      expect(await received.promise).toBe(size);
      expect(proxy.egress.bytes()).toEqual({ sent: size, received: size });
    });

    test("pass as a request and as a response", async () => {
      const port = await serve(
        createHttpServer(async (incoming, response) => {
          response.setHeader("x-received", await drain(incoming));
          void pour(response);
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const outgoing = request({ port: proxy.port, method: "PUT", path: `http://127.0.0.1:${port}/` });
      void pour(outgoing);
      const [response] = await once(outgoing, "response");
      expect(response.headers["x-received"]).toBe(String(size));
      expect(await drain(response)).toBe(size);
    });

    test.each(["tunnel", "request"])("are not buffered if the client does not read: %s", async (kind) => {
      const counter = { written: 0 };
      const port = await serve(
        createServer((socket) =>
          socket.once("data", () => {
            if (kind === "request") socket.write("HTTP/1.1 200 OK\r\n\r\n");
            void pour(socket, counter).catch(() => {});
          }),
        ),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket =
        kind === "tunnel" ? await openTunnel(proxy.port, `127.0.0.1:${port}`) : plain(proxy.port);
      socket.pause();
      socket.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      await untilStable(() => counter.written);
      expect(counter.written).toBeLessThan(size / 2);
      socket.resume();
      expect(await drain(socket)).toBeGreaterThanOrEqual(size);
    });

    test("are not buffered if the server does not read", async () => {
      const accepted = Promise.withResolvers<Socket>();
      const port = await serve(createServer({ pauseOnConnect: true }, (socket) => accepted.resolve(socket)));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      const counter = { written: 0 };
      const poured = pour(socket, counter);
      await untilStable(() => counter.written);
      expect(counter.written).toBeLessThan(size / 2);
      expect(await drain((await accepted.promise).resume())).toBe(size);
      await poured;
    });
  });

  describe("one direction of a tunnel", () => {
    test("may end before the other: the client's", async () => {
      const port = await serve(
        createServer({ allowHalfOpen: true }, async (socket) => socket.end(`${await drain(socket)} bytes`)),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      socket.end("12345");
      expect(await readToEnd(socket)).toBe("5 bytes");
    });

    test("may end before the other: the server's", async () => {
      const received = Promise.withResolvers<number>();
      const port = await serve(
        createServer({ allowHalfOpen: true }, (socket) => {
          socket.end("bye");
          received.resolve(drain(socket));
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      expect(await readToEnd(socket)).toBe("bye");
      socket.end("12345");
      expect(await received.promise).toBe(5);
    });

    test("resets the other on an error, so that truncated data does not look complete", async () => {
      const port = await serve(
        createServer((socket) => {
          socket.once("data", () => socket.write("half", () => socket.resetAndDestroy()));
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      socket.write("go");
      await expect(readToEnd(socket)).rejects.toThrow("ECONNRESET");
    });
  });

  describe("connections", () => {
    test("above the limit get 503, and succeed again when others end", async () => {
      const port = await serve(createServer((socket) => socket.pipe(socket)));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const target = `127.0.0.1:${port}`;
      const tries = await Promise.allSettled(
        Array.from({ length: 300 }, () => openTunnel(proxy.port, target)),
      );
      const open = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      const failed = tries.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
      expect(open).toHaveLength(256);
      expect(failed.every((text) => text.includes("503 Service Unavailable"))).toBe(true);
      for (const socket of open) socket.destroy();
      await until(() =>
        openTunnel(proxy.port, target).then(
          () => true,
          () => false,
        ),
      );
      expect(proxy.warnings).toEqual([]);
    });

    test("far above the limit are closed without a response", async () => {
      const proxy = await startProxy({ limits: { connections: 4 } });
      let [responded, ended] = [0, 0];
      for (let count = 0; count < 200; count++) {
        // The client does not end its direction, so that the proxy keeps the connection as long as possible.
        const socket = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
        closeLater(() => socket.destroy());
        socket.once("data", () => responded++);
        void once(socket, "end").then(
          () => ended++,
          () => ended++, // it was reset
        );
      }
      await until(() => ended === 196, waitOptions.timeout);
      expect(responded).toBeGreaterThan(0);
      expect(responded).toBeLessThan(196);
    });

    test("that were refused free their slot at once", async () => {
      const proxy = await startProxy({ limits: { connections: 2 } });
      for (let count = 0; count < 10; count++) {
        const asked = `CONNECT 10.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n${"x".repeat(500_000)}`;
        await until(async () => (await send(proxy.port, asked)).includes("403 Forbidden"), 1_000);
      }
    });

    test("that are idle are closed", async () => {
      let open = 0;
      const server = createServer((socket) => {
        open++;
        socket.resume().once("close", () => open--);
      });
      const port = await serve(server);
      const proxy = await startProxy({ exceptions: "127.0.0.1", limits: { idleMs: 1_000 } });
      const socket = await openTunnel(proxy.port, `127.0.0.1:${port}`);
      await expect(readToEnd(socket)).rejects.toThrow("ECONNRESET");
      expect(await send(proxy.port, "GET ")).toBe("");
      const answer = await send(proxy.port, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(["", "HTTP/1.1 504 Gateway Timeout"]).toContain(answer.split("\r\n")[0]);
      await until(() => open === 0);
    });

    test("accept only a few pipelined requests", async () => {
      let reached = 0;
      const port = await serve(createServer(() => reached++));
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const one = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;
      expect(await send(proxy.port, one.repeat(500))).toBe("");
      expect(reached).toBeLessThanOrEqual(16);
    });

    test("are closed when the client disconnects", async () => {
      let open = 0;
      const port = await serve(
        createServer((socket) => {
          open++;
          socket.resume().once("close", () => open--);
        }),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const client = plain(proxy.port);
      client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
      await until(() => open === 1);
      client.destroy();
      await until(() => open === 0);
    });
  });
}
