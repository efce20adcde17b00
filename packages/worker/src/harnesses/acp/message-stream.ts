/**
 * Reads and writes the messages of the Agent Client Protocol, one JSON value per line over a process's pipes.
 *
 * The agent may be hostile. Each line is measured before it is parsed, and a line over a limit ends the connection. The
 * next line is read only after the last one has been handled, so an agent that sends faster than its updates can be stored
 * waits. The SDK gets only well-formed requests, and responses to requests that it has sent, because it would print
 * everything else to the worker's log.
 */
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { ByteBuffer } from "@outrider/agent/byte-buffer";
import { findExcess, type JsonLimits } from "@outrider/agent/json-meter";
import { z } from "zod";

/** A 5 MB image takes up 7 MB in base64. */
const MAX_LINE_BYTES = 16 * 2 ** 20;
const jsonLimits: JsonLimits = { depth: 100, values: 100_000 };
/** Requests of the agent that have no answer yet. */
const MAX_OPEN_REQUESTS = 64;
/** Output that is not a message. Some agents print logs to stdout. */
const MAX_OTHER_BYTES = 4 * 2 ** 20;
const MAX_LOG_BYTES = 4 * 1024;
/** What an agent may send per second. More is read later. */
const BYTES_PER_SECOND = 16 * 2 ** 20;
const MESSAGES_PER_SECOND = 5_000;
/** A flood of small messages is interrupted after this time, so that the process can do its other work. */
const MAX_BUSY_MS = 10;
const NEWLINE = 10;

const Request = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.number(), z.string().max(200)]),
  method: z.string().max(200),
  params: z.unknown().optional(),
});
const Notification = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.undefined().optional(),
  method: z.string(),
  params: z.unknown().optional(),
});
const failedRequest = z.object({
  code: z.number(),
  message: z.string(),
  data: z.unknown().optional(),
});
const Response = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.number(),
  method: z.undefined().optional(),
  result: z.unknown().optional(),
  error: failedRequest.optional(),
});

interface MessageStreamOptions {
  stdin: Writable;
  stdout: Readable;
  /** Receives each notification. The next line is read when it resolves. If it rejects, the connection ends. */
  onNotification(method: string, params: unknown): Promise<void>;
  /** Receives output that is not a message. */
  onLog(data: Buffer): void;
}

/** An error of the agent, as the rest of a sentence about it. */
export class ProtocolError extends Error {
  override name = "ProtocolError";
}

export class MessageStream {
  readonly stream: Stream;
  readonly #options: MessageStreamOptions;
  readonly #line = new ByteBuffer();
  readonly #openRequests = new Set<string | number>();
  readonly #pendingResponses = new Set<number>();
  readonly #rate = new Rate();
  #otherBytes = 0;
  #resumedAt = performance.now();

  constructor(options: MessageStreamOptions) {
    this.#options = options;
    options.stdin.on("error", () => {});
    options.stdout.on("error", () => {});
    this.stream = {
      // Reads only on demand, so that nothing is buffered in between.
      readable: ReadableStream.from(this.#read()) as Stream["readable"],
      writable: new WritableStream({ write: (message) => this.#write(message) }),
    };
  }

  #write(message: AnyMessage) {
    const { stdin } = this.#options;
    if (stdin.writableLength > MAX_LINE_BYTES) throw new ProtocolError("does not read its input");
    if ("method" in message) {
      if ("id" in message && typeof message.id === "number") this.#pendingResponses.add(message.id);
    } else if (message.id !== null) {
      this.#openRequests.delete(message.id);
    }
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  async *#read(): AsyncGenerator<AnyMessage> {
    for await (const chunk of this.#options.stdout as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
        this.#append(chunk.subarray(from, at));
        from = at + 1;
        const message = await this.#handleLine(this.#line.take());
        if (message) yield message;
        await this.#yieldToOthers();
      }
      this.#append(chunk.subarray(from));
    }
    this.#log(this.#line.take());
  }

  #append(data: Buffer) {
    if (this.#line.length + data.length > MAX_LINE_BYTES)
      throw new ProtocolError(`sent a message of more than ${MAX_LINE_BYTES} bytes`);
    this.#line.append(data);
  }

  async #yieldToOthers() {
    if (performance.now() - this.#resumedAt < MAX_BUSY_MS) return;
    await setImmediate();
    this.#resumedAt = performance.now();
  }

  /** Handles a notification. Returns a request or a response for the SDK. */
  async #handleLine(line: Buffer): Promise<AnyMessage | undefined> {
    await this.#rate.wait(line.length);
    const excess = findExcess(line, jsonLimits);
    if (excess !== undefined) throw new ProtocolError(`sent a message that ${excess}`);
    const value = parse(line);
    const notification = Notification.safeParse(value).data;
    if (notification) {
      await this.#options.onNotification(notification.method, notification.params);
      return undefined;
    }
    const message = this.#toRequest(value) ?? this.#toResponse(value);
    if (!message) this.#log(line);
    return message;
  }

  #toRequest(value: unknown): AnyMessage | undefined {
    const request = Request.safeParse(value).data;
    if (!request) return undefined;
    this.#openRequests.add(request.id);
    if (this.#openRequests.size > MAX_OPEN_REQUESTS)
      throw new ProtocolError(`has more than ${MAX_OPEN_REQUESTS} unanswered requests`);
    return request;
  }

  #toResponse(value: unknown): AnyMessage | undefined {
    const response = Response.safeParse(value).data;
    if (!response || !this.#pendingResponses.delete(response.id)) return undefined;
    const { jsonrpc, id, result, error } = response;
    return error ? { jsonrpc, id, error } : { jsonrpc, id, result: result ?? null };
  }

  #log(line: Buffer) {
    if (line.length === 0) return;
    this.#otherBytes += line.length;
    if (this.#otherBytes > MAX_OTHER_BYTES)
      throw new ProtocolError(`printed ${MAX_OTHER_BYTES} bytes that are not messages`);
    this.#options.onLog(Buffer.concat([line.subarray(0, MAX_LOG_BYTES), Buffer.from("\n")]));
  }
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch {
    return undefined;
  }
}

/** Lets the reader wait when an agent sends more per second than it may. */
class Rate {
  #startedAt = performance.now();
  #bytes = 0;
  #messages = 0;

  async wait(bytes: number): Promise<void> {
    const elapsedMs = performance.now() - this.#startedAt;
    const isOver = this.#bytes > BYTES_PER_SECOND || this.#messages > MESSAGES_PER_SECOND;
    if (isOver && elapsedMs < 1_000) await pause(1_000 - elapsedMs);
    if (isOver || elapsedMs >= 1_000) {
      this.#startedAt = performance.now();
      this.#bytes = 0;
      this.#messages = 0;
    }
    this.#bytes += bytes;
    this.#messages += 1;
  }
}
