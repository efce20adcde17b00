import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Bodies } from "../src/api/bodies.ts";
import { type Reply, type TestServer, testServer } from "./server.ts";

const MIB = 1024 ** 2;
const soon = { timeout: 10_000, interval: 20 };

describe("room for bodies", () => {
  const bounds = { most: 10 * MIB, mostEach: 4 * MIB, waitMs: 30 };

  test("is given to who waits for it when others leave, each as far as their own goes", async () => {
    const bodies = new Bodies({ ...bounds, waitMs: 10_000 });
    const leave = await bodies.enter("one", 3 * MIB);
    const entered: string[] = [];
    const second = bodies.enter("one", 2 * MIB).then(() => entered.push("one"));
    await bodies.enter("two", 4 * MIB).then(() => entered.push("two"));
    expect(entered).toEqual(["two"]);
    leave?.();
    await second;
    expect(entered).toEqual(["two", "one"]);
  });

  test("is given back once, however often that is said", async () => {
    const bodies = new Bodies(bounds);
    await bodies.enter("one", 4 * MIB);
    const leave = await bodies.enter("two", 2 * MIB);
    await bodies.enter("three", 4 * MIB);
    leave?.();
    leave?.();
    await bodies.enter("four", 2 * MIB);
    await expect(bodies.enter("five", 2 * MIB)).rejects.toThrow("no room");
  });

  test("is refused to who has waited in vain, and says whose doing it is", async () => {
    const bodies = new Bodies(bounds);
    await bodies.enter("one", 4 * MIB);
    await expect(bodies.enter("one", MIB)).rejects.toMatchObject({
      code: "rate_limited",
      retryAfterSeconds: 5,
    });
    await bodies.enter("two", 4 * MIB);
    await expect(bodies.enter("three", 3 * MIB)).rejects.toMatchObject({ code: "resource_unavailable" });
    // What is small is not counted.
    expect(await bodies.enter("three", 1_000)).toBeUndefined();
  });
});

describe("a caller who sends much at once", () => {
  let server: TestServer;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    server = await testServer();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });

  /** Promises sixteen megabytes, and sends none of them. */
  function promise() {
    const socket = connect(Number(new URL(server.origin).port), "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    const key = `Authorization: Bearer ${server.key}\r\nContent-Type: application/json`;
    socket.write(
      `POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\n${key}\r\nContent-Length: ${16 * MIB}\r\n\r\n`,
    );
  }

  test("waits until there is room for it, and nobody else does", async () => {
    const file = { file_name: "a", mime_type: "text/plain", data: Buffer.alloc(300_000).toString("base64") };
    const body = { prompt: "SAY: a", attachments: [file] };
    const other = await server.person("other@example.com");
    for (let count = 0; count < 4; count++) promise();
    let waiting: Promise<Reply> | undefined;
    await vi.waitFor(async () => {
      let isAnswered = false;
      waiting = server.call("POST", "/agent/run", { body });
      waiting.then(() => {
        isAnswered = true;
      });
      for (let count = 0; count < 5; count++) {
        expect((await server.call("POST", "/agent/run", { body, key: other })).status).toBe(200);
        expect((await server.call("GET", "/agent/runs")).status).toBe(200);
      }
      expect(isAnswered).toBe(false);
    }, soon);
    sockets.pop()?.destroy();
    expect((await waiting)?.status).toBe(200);
  });
});
