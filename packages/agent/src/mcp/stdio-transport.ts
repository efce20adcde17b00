import type { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { ByteBuffer } from "../byte-buffer.ts";
import {
  cancellation,
  deliver,
  isRequest,
  MAX_UNSOLICITED_BYTES,
  type Transport,
} from "./json-rpc-messages.ts";
import { MAX_MESSAGE_BYTES, type Message } from "./messages/message.ts";
import { MessageParser } from "./messages/message-parser.ts";
import { PendingRequests } from "./pending-requests.ts";

const NEWLINE = 10;
const MAX_LOG_BYTES = 4 * 1024;
/** A flood of small messages is interrupted after this time, so that the process can do its other work. */
const MAX_BUSY_MS = 10;

interface StdioTransportOptions {
  stdin: Writable;
  stdout: Readable;
  /** Receives output that is not a message, because many servers log to stdout. */
  onLog(data: Buffer): void;
}

/**
 * The stdio transport, with one message per line over a process's pipes. The process may be hostile, so buffered and
 * unsolicited data are limited, and the next line is read only after the last one has been handled.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  onprogress?: (id: number) => void;
  /** The reason why the transport was closed, if the server exceeded a limit. */
  failure: string | undefined;
  readonly #options: StdioTransportOptions;
  readonly #line = new ByteBuffer();
  #unsolicitedBytes = 0;
  /** When the event loop last had time for other work. */
  #resumedAt = performance.now();
  #isClosed = false;
  readonly #pending = new PendingRequests();
  readonly #parser = new MessageParser();

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  async start() {
    const { stdin, stdout } = this.#options;
    stdin.on("error", () => {});
    stdout.on("error", () => {});
    void this.#read();
  }

  async send(message: Message, { signal }: { signal?: AbortSignal } = {}) {
    if (this.#isClosed) throw new Error("The connection to the MCP server is closed.");
    const { stdin } = this.#options;
    if (stdin.writableLength > MAX_MESSAGE_BYTES) return this.#fail("It does not read its input.");
    if (isRequest(message)) {
      const { id } = message;
      const cancel = () => stdin.write(`${JSON.stringify(cancellation(id))}\n`);
      this.#pending.add(message, { signal, cancel });
    }
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  async close() {
    this.#end();
  }

  async #read() {
    try {
      for await (const chunk of this.#options.stdout) {
        await this.#handleData(chunk);
        if (this.#isClosed) break;
      }
    } catch {
      // The connection is closed, whatever the error is.
    }
    this.#end();
  }

  async #handleData(chunk: Buffer) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1 && !this.#isClosed; at = chunk.indexOf(NEWLINE, from)) {
      this.#append(chunk.subarray(from, at));
      from = at + 1;
      if (this.#isClosed) return;
      if (this.#line.length > 0) await this.#handleLine(this.#line.take());
      else this.#countUnsolicited(1);
      if (performance.now() - this.#resumedAt > MAX_BUSY_MS) {
        await setImmediate();
        this.#resumedAt = performance.now();
      }
    }
    if (!this.#isClosed) this.#append(chunk.subarray(from));
  }

  #append(data: Buffer) {
    this.#line.append(data);
    if (this.#line.length > MAX_MESSAGE_BYTES)
      this.#fail(`It wrote a line of more than ${MAX_MESSAGE_BYTES} bytes.`);
  }

  async #handleLine(line: Buffer) {
    const parsed = await this.#parser.parse(line, this.#pending.methods);
    if (this.#isClosed) return;
    if (parsed.type === "invalid") this.#log(line);
    const isExpected = deliver(this, parsed, this.#pending);
    if (isExpected) this.#unsolicitedBytes = 0;
    else this.#countUnsolicited(line.length);
  }

  #countUnsolicited(bytes: number) {
    this.#unsolicitedBytes += bytes;
    if (this.#unsolicitedBytes > MAX_UNSOLICITED_BYTES)
      this.#fail(`It wrote ${MAX_UNSOLICITED_BYTES} bytes of unsolicited data.`);
  }

  #log(line: Buffer) {
    this.#options.onLog(Buffer.concat([line.subarray(0, MAX_LOG_BYTES), Buffer.from("\n")]));
  }

  #fail(problem: string) {
    this.failure ??= problem;
    this.#end();
  }

  #end() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.onLog(this.#line.take().subarray(0, MAX_LOG_BYTES));
    this.#pending.clear();
    this.#options.stdin.destroy();
    this.#options.stdout.destroy();
    this.onclose?.();
  }
}
