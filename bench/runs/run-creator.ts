import { connect, type Socket } from "node:net";
import { answerParent } from "../support/child-process.ts";
import type { Times } from "./baseline-queue.ts";

/** Creates runs with several concurrent callers. */
export interface CreateRuns {
  origin: string;
  key: string;
  prompt: string;
  count: number;
  callers: number;
}

answerParent<CreateRuns>(async (options) => {
  const { origin, count, callers } = options;
  const request = describeRequest(options);
  const times: Times = new Map();
  let started = 0;
  const caller = async () => {
    using connection = new Connection(new URL(origin));
    while (started++ < count) {
      const { run_id } = JSON.parse(await connection.send(request)) as { run_id: string };
      times.set(run_id, process.hrtime.bigint());
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});

function describeRequest({ origin, key, prompt }: CreateRuns): Buffer {
  const body = JSON.stringify({ prompt });
  const head = [
    "POST /api/v1/agent/run HTTP/1.1",
    `host: ${new URL(origin).host}`,
    `authorization: Bearer ${key}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/**
 * A connection of a caller, which sends one request at a time. Node's HTTP client costs several times as much, and what the
 * callers cost is missing for the service.
 */
class Connection {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #response = Promise.withResolvers<string>();

  constructor({ hostname, port }: URL) {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on("data", (data) => {
      this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
      this.#readResponse();
    });
    this.#socket.on("error", (error) => this.#response.reject(error));
    this.#socket.on("close", () => this.#response.reject(new Error("The server closed the connection.")));
    this.#response.promise.catch(() => {}); // nobody waits before the first request
  }

  [Symbol.dispose](): void {
    this.#response.resolve("");
    this.#socket.destroy();
  }

  /** Returns the body of the response. */
  async send(request: Buffer): Promise<string> {
    this.#response = Promise.withResolvers();
    this.#socket.write(request);
    return await this.#response.promise;
  }

  #readResponse(): void {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#received.toString("latin1", 0, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
    const body = this.#received.toString("utf8", end + 4);
    if (!head.startsWith("HTTP/1.1 200 ") || Number.isNaN(length)) {
      this.#response.reject(new Error(`POST /agent/run returned ${head}\n${body}`));
    } else if (this.#received.length >= end + 4 + length) {
      this.#received = Buffer.alloc(0);
      this.#response.resolve(body);
    }
  }
}
