import { setTimeout as pause } from "node:timers/promises";
import type { Outrider, ShellInput as ShellInputBody } from "@outrider/sdk";

/** The size of one request. The server accepts up to 32 KiB. */
const PIECE_BYTES = 32 * 1024;
/** Stdin is not read while this much waits to be sent. */
const MAX_WAITING_BYTES = 256 * 1024;
const RETRY_MS = 200;
const REQUEST_MS = 15_000;
/** Shows the server that the client is alive. */
const KEEP_ALIVE_MS = 10_000;
/** Confirmations are sent with the next input, or after this time. */
const CONFIRM_MS = 200;
const MAX_UNCONFIRMED = { events: 16, bytes: 64 * 1024 };

interface ShellInputOptions {
  client: Outrider;
  environment: string;
  shell: string;
  /** Called when more input may be added. */
  onDrain(): void;
  /** Called if the server does not accept the client any more. */
  onRejected(error: unknown): void;
}

/**
 * Sends input to a shell, and confirms its output. One request is in flight at a time; what is typed meanwhile is sent with
 * the next one. Each piece has a number, so that a repeated request does not type it twice.
 */
export class ShellInput {
  readonly #options: ShellInputOptions;
  readonly #stopped = new AbortController();
  readonly #keepAlive: NodeJS.Timeout;
  #bytes = Buffer.alloc(0);
  #terminal: ShellInputBody["terminal"];
  #endsInput = false;
  #seq = 0;
  #received = 0;
  #confirmed = 0;
  #unconfirmedBytes = 0;
  #confirmTimer: NodeJS.Timeout | undefined;
  #isSending = false;

  constructor(options: ShellInputOptions) {
    this.#options = options;
    this.#keepAlive = setInterval(() => void this.#send(true), KEEP_ALIVE_MS);
  }

  /** Returns false if the caller should wait for `onDrain`. */
  write(bytes: Uint8Array): boolean {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    void this.#send();
    return this.#bytes.length < MAX_WAITING_BYTES;
  }

  resize(terminal: { rows: number; columns: number }) {
    this.#terminal = terminal;
    void this.#send();
  }

  end() {
    this.#endsInput = true;
    void this.#send();
  }

  /** Confirms that events up to `seq` are shown. */
  confirm(seq: number, bytes: number) {
    this.#received = seq;
    this.#unconfirmedBytes += bytes;
    const { events, bytes: maxBytes } = MAX_UNCONFIRMED;
    if (seq - this.#confirmed >= events || this.#unconfirmedBytes >= maxBytes) void this.#send();
    else this.#confirmTimer ??= setTimeout(() => void this.#send(), CONFIRM_MS);
  }

  stop() {
    this.#stopped.abort();
    clearInterval(this.#keepAlive);
    clearTimeout(this.#confirmTimer);
  }

  async #send(isKeepAlive = false): Promise<void> {
    if (this.#isSending || this.#stopped.signal.aborted) return;
    this.#isSending = true;
    try {
      for (let body = this.#next() ?? (isKeepAlive ? {} : undefined); body; body = this.#next()) {
        await this.#request(body);
        this.#options.onDrain();
      }
    } catch (error) {
      if (!this.#stopped.signal.aborted) this.#options.onRejected(error);
      this.stop();
    } finally {
      this.#isSending = false;
    }
  }

  /** Returns the next request, or undefined if there is nothing to send. */
  #next(): ShellInputBody | undefined {
    clearTimeout(this.#confirmTimer);
    this.#confirmTimer = undefined;
    const bytes = this.#bytes.subarray(0, PIECE_BYTES);
    const isLast = bytes.length === this.#bytes.length;
    const piece = {
      ...(bytes.length > 0 ? { data: bytes.toString("base64") } : {}),
      ...(this.#terminal ? { terminal: this.#terminal } : {}),
      ...(this.#endsInput && isLast ? { ends_input: true as const } : {}),
    };
    const hasPiece = Object.keys(piece).length > 0;
    if (!hasPiece && this.#received === this.#confirmed) return undefined;
    this.#bytes = this.#bytes.subarray(bytes.length);
    this.#terminal = undefined;
    if (piece.ends_input) this.#endsInput = false;
    this.#confirmed = this.#received;
    this.#unconfirmedBytes = 0;
    if (hasPiece) this.#seq += 1;
    return { ...(hasPiece ? { seq: this.#seq, ...piece } : {}), received: this.#received };
  }

  /** Sends a request until the server has accepted it. Rejects if the server will never accept it. */
  async #request(body: ShellInputBody): Promise<void> {
    const { client, environment, shell } = this.#options;
    const { signal } = this.#stopped;
    for (;;) {
      try {
        await client.shells.input(environment, shell, body, { maxRetries: 0, timeout: REQUEST_MS, signal });
        return;
      } catch (error) {
        const { status } = error as { status?: number };
        const isFinal = status !== undefined && status < 500 && status !== 429;
        if (isFinal || signal.aborted) throw error;
        await pause(RETRY_MS, undefined, { signal });
      }
    }
  }
}
