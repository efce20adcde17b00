import type { Readable, Writable } from "node:stream";
import {
  cancellation,
  deliver,
  isRequest,
  MESSAGE_BYTES,
  type Message,
  parseMessage,
  type Transport,
  UNASKED_BYTES,
} from "./transport.ts";
import { Waiting } from "./waiting.ts";

const NEWLINE = 10;
const NOISE_BYTES = 4 * 1024;

interface LineTransportOptions {
  stdin: Writable;
  stdout: Readable;
  /** Takes what the server writes to its output though it is no message: many log there. */
  noise(data: Buffer): void;
}

/**
 * A message a line, over the pipes of a process which may be hostile: what it makes us hold is bounded, and so is what
 * it may say without being asked.
 */
export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: Message) => void;
  /** Why it was closed, where the server broke the rules. */
  failure: string | undefined;
  private readonly options: LineTransportOptions;
  private parts: Buffer[] = [];
  private held = 0;
  private unasked = 0;
  private isClosed = false;
  private readonly waiting = new Waiting();

  constructor(options: LineTransportOptions) {
    this.options = options;
  }

  async start() {
    const { stdin, stdout } = this.options;
    stdin.on("error", () => {});
    stdout.on("error", () => this.end());
    stdout.on("data", (chunk: Buffer) => this.take(chunk));
    stdout.once("close", () => this.end());
    stdout.once("end", () => this.end());
  }

  async send(message: Message, { signal }: { signal?: AbortSignal } = {}) {
    if (this.isClosed) throw new Error("The server is gone.");
    const { stdin } = this.options;
    if (stdin.writableLength > MESSAGE_BYTES) return this.fail("It does not read what it is sent.");
    stdin.write(`${JSON.stringify(message)}\n`);
    if (!signal || !isRequest(message)) return;
    const { id } = message;
    this.waiting.add(id, signal, () => stdin.write(`${JSON.stringify(cancellation(id))}\n`));
  }

  async close() {
    this.end();
  }

  private take(chunk: Buffer) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1 && !this.isClosed; at = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...this.parts, chunk.subarray(from, at)]);
      this.parts = [];
      this.held = 0;
      from = at + 1;
      this.read(line);
    }
    if (from === chunk.length || this.isClosed) return;
    this.parts.push(chunk.subarray(from));
    this.held += chunk.length - from;
    if (this.held > MESSAGE_BYTES) this.fail(`It wrote a line of more than ${MESSAGE_BYTES} bytes.`);
  }

  private read(line: Buffer) {
    if (line.length > MESSAGE_BYTES) return this.fail(`It wrote a line of more than ${MESSAGE_BYTES} bytes.`);
    const text = line.toString();
    if (text.trim() === "") return;
    const message = parseMessage(text);
    if (!message) this.options.noise(Buffer.concat([line.subarray(0, NOISE_BYTES), Buffer.from("\n")]));
    const isAnswer = message !== undefined && !("method" in message);
    if (isAnswer) this.waiting.answered(message.id);
    const isAsked = message !== undefined && deliver(this, message) && isAnswer;
    this.unasked = isAsked ? 0 : this.unasked + line.length;
    if (this.unasked > UNASKED_BYTES) this.fail(`It wrote ${UNASKED_BYTES} bytes that nobody had asked for.`);
  }

  private fail(problem: string) {
    this.failure ??= problem;
    this.end();
  }

  private end() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.options.noise(Buffer.concat(this.parts).subarray(0, NOISE_BYTES));
    this.parts = [];
    this.waiting.clear();
    this.options.stdin.destroy();
    this.options.stdout.destroy();
    this.onclose?.();
  }
}
