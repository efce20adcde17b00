import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { closeAll, closeLater, rest, say, serve, startProxy, tunnel } from "./egress-support.ts";
import { until } from "./sandbox-support.ts";

afterEach(closeAll);

const megabyte = Buffer.alloc(2 ** 20, "x");
const size = 100 * megabyte.length;

/** Writes as fast as it may, and says how much was taken. */
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

describe("a hundred megabytes", () => {
  test("go both ways through one tunnel at once, and are counted", async () => {
    const received = Promise.withResolvers<number>();
    const port = await serve(
      createServer({ allowHalfOpen: true }, (socket) => {
        void pour(socket);
        received.resolve(drain(socket));
      }),
    );
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    const [, down] = await Promise.all([pour(socket), drain(socket)]);
    expect(down).toBe(size);
    expect(await received.promise).toBe(size);
    expect(proxy.egress.bytes()).toEqual({ sent: size, received: size });
  });

  test("go up and down in requests", async () => {
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

  test.each(["tunnel", "request"])(
    "are not taken from a server whose client does not read: %s",
    async (way) => {
      const counter = { written: 0 };
      const port = await serve(
        createServer((socket) =>
          socket.once("data", () => {
            if (way === "request") socket.write("HTTP/1.1 200 OK\r\n\r\n");
            void pour(socket, counter).catch(() => {});
          }),
        ),
      );
      const proxy = await startProxy({ exceptions: "127.0.0.1" });
      const socket = way === "tunnel" ? await tunnel(proxy.port, `127.0.0.1:${port}`) : plain(proxy.port);
      socket.pause();
      socket.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      await standsStill(() => counter.written);
      expect(counter.written).toBeLessThan(size / 2);
      socket.resume();
      expect(await drain(socket)).toBeGreaterThanOrEqual(size);
    },
  );

  test("are not taken from a client whose server does not read", async () => {
    const accepted = Promise.withResolvers<Socket>();
    const port = await serve(createServer({ pauseOnConnect: true }, (socket) => accepted.resolve(socket)));
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    const counter = { written: 0 };
    const poured = pour(socket, counter);
    await standsStill(() => counter.written);
    expect(counter.written).toBeLessThan(size / 2);
    expect(await drain((await accepted.promise).resume())).toBe(size);
    await poured;
  });
});

function plain(port: number): Socket {
  const socket = connect({ port, host: "127.0.0.1" });
  closeLater(() => socket.destroy());
  return socket;
}

/** Resolves when something has begun and then not moved for many turns. */
async function standsStill(read: () => number): Promise<void> {
  let [last, since] = [0, performance.now()];
  await until(() => {
    const now = read();
    if (now !== last) [last, since] = [now, performance.now()];
    return last > 0 && performance.now() - since > 300;
  });
}

describe("one half of a tunnel", () => {
  test("may end while the other goes on: the client's", async () => {
    const port = await serve(
      createServer({ allowHalfOpen: true }, async (socket) => socket.end(`${await drain(socket)} bytes`)),
    );
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    socket.end("12345");
    expect(await rest(socket)).toBe("5 bytes");
  });

  test("may end while the other goes on: the server's", async () => {
    const heard = Promise.withResolvers<number>();
    const port = await serve(
      createServer({ allowHalfOpen: true }, (socket) => {
        socket.end("bye");
        heard.resolve(drain(socket));
      }),
    );
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    expect(await rest(socket)).toBe("bye");
    socket.end("12345");
    expect(await heard.promise).toBe(5);
  });

  test("that breaks breaks the other: what is cut off does not look whole", async () => {
    const port = await serve(
      createServer((socket) => {
        socket.once("data", () => socket.write("half", () => socket.resetAndDestroy()));
      }),
    );
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    socket.write("go");
    await expect(rest(socket)).rejects.toThrow("ECONNRESET");
  });
});

describe("connections", () => {
  test("above the limit are told so, and there is room again when others end", async () => {
    const port = await serve(createServer((socket) => socket.pipe(socket)));
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const target = `127.0.0.1:${port}`;
    const tries = await Promise.allSettled(Array.from({ length: 300 }, () => tunnel(proxy.port, target)));
    const open = tries.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = tries.flatMap((one) => (one.status === "rejected" ? [String(one.reason)] : []));
    expect(open).toHaveLength(256);
    expect(failed.every((text) => text.includes("503 Service Unavailable"))).toBe(true);
    for (const socket of open) socket.destroy();
    await until(() =>
      tunnel(proxy.port, target).then(
        () => true,
        () => false,
      ),
    );
    expect(proxy.warnings).toEqual([]);
  });

  test("far above the limit are closed without a word", async () => {
    const proxy = await startProxy({ limits: { connections: 4 } });
    let [told, ended] = [0, 0];
    for (let count = 0; count < 200; count++) {
      // It does not end its own half, so that the proxy has to hold the connection as long as it holds any.
      const socket = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true });
      closeLater(() => socket.destroy());
      socket.once("data", () => told++).once("end", () => ended++);
    }
    await until(() => ended === 196);
    expect(told).toBeGreaterThan(0);
    expect(told).toBeLessThan(196);
  });

  test("that were refused make room at once", async () => {
    const proxy = await startProxy({ limits: { connections: 2 } });
    for (let count = 0; count < 10; count++) {
      const asked = `CONNECT 10.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n${"x".repeat(500_000)}`;
      await until(async () => (await say(proxy.port, asked)).includes("403 Forbidden"), 1_000);
    }
  });

  test("on which nothing moves are closed", async () => {
    let open = 0;
    const server = createServer((socket) => {
      open++;
      socket.resume().once("close", () => open--);
    });
    const port = await serve(server);
    const proxy = await startProxy({ exceptions: "127.0.0.1", limits: { idleMs: 100 } });
    const socket = await tunnel(proxy.port, `127.0.0.1:${port}`);
    await expect(rest(socket)).rejects.toThrow("ECONNRESET");
    expect(await say(proxy.port, "GET ")).toBe("");
    const answer = await say(proxy.port, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(["", "HTTP/1.1 504 Gateway Timeout"]).toContain(answer.split("\r\n")[0]);
    await until(() => open === 0);
  });

  test("carry no more than a few requests ahead of their answers", async () => {
    let reached = 0;
    const port = await serve(createServer(() => reached++));
    const proxy = await startProxy({ exceptions: "127.0.0.1" });
    const one = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;
    expect(await say(proxy.port, one.repeat(500))).toBe("");
    expect(reached).toBeLessThanOrEqual(16);
  });

  test("of a client that went away are not kept", async () => {
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
