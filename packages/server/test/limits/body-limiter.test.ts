import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { type Reply, type TestServer, testServer } from "../server.ts";

const MIB = 1024 ** 2;

describe("a caller that sends many large bodies", () => {
  let server: TestServer;
  const sockets: Socket[] = [];
  beforeAll(async () => {
    server = await testServer();
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  });

  /** Announces sixteen megabytes and sends nothing. */
  function promise() {
    const socket = connect(Number(new URL(server.origin).port), "127.0.0.1").on("error", () => {});
    sockets.push(socket);
    const key = `Authorization: Bearer ${server.key}\r\nContent-Type: application/json`;
    socket.write(
      `POST /api/v1/agent/run HTTP/1.1\r\nHost: a\r\n${key}\r\nContent-Length: ${16 * MIB}\r\n\r\n`,
    );
  }

  test("waits for capacity without delaying others", async () => {
    const file = { file_name: "a", mime_type: "text/plain", data: Buffer.alloc(300_000).toString("base64") };
    const body = { prompt: "SAY: a", attachments: [file] };
    const other = await server.user("other@example.com");
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
    }, waitOptions);
    sockets.pop()?.destroy();
    expect((await waiting)?.status).toBe(200);
  });
});
