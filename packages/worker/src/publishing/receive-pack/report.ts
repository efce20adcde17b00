import type { Writable } from "node:stream";
import { flushLine, pktLine } from "./pkt-line.ts";

const REPORT_BAND = 1;
const MESSAGE_BAND = 2;
const MAX_BAND_BYTES = 8_000;
const MAX_REASON_CHARACTERS = 200;

export interface RefStatus {
  ref: string;
  /** Why the ref was not updated. Git prints it in parentheses. Absent if the ref was updated. */
  reason?: string | undefined;
}

/** The answer to a push: messages, which git prints after `remote:`, and then the status of each ref. */
export class PushReport {
  readonly #out: Writable;
  readonly #capabilities: ReadonlySet<string>;

  constructor(out: Writable, capabilities: ReadonlySet<string>) {
    this.#out = out;
    this.#capabilities = capabilities;
  }

  message(text: string): void {
    if (!this.#hasBands) return;
    const lines = text.split("\n").map((line) => `${printable(line)}\n`);
    for (const line of lines) this.#writeBand(MESSAGE_BAND, Buffer.from(line));
  }

  /** Shows that the push is still in progress, to the client and to proxies. */
  keepAlive(): void {
    if (this.#hasBands) this.#writeBand(MESSAGE_BAND, Buffer.alloc(0));
  }

  /** Writes the status of each ref. Without `unpackError`, the objects were received. */
  finish(statuses: readonly RefStatus[], { unpackError }: { unpackError?: string | undefined } = {}): void {
    if (this.#capabilities.has("report-status")) {
      const report = Buffer.concat([
        pktLine(`unpack ${unpackError ? short(unpackError) : "ok"}\n`),
        ...statuses.map(({ ref, reason }) =>
          pktLine(reason ? `ng ${ref} ${short(reason)}\n` : `ok ${ref}\n`),
        ),
        flushLine,
      ]);
      if (this.#hasBands) this.#writeBand(REPORT_BAND, report);
      else this.#out.write(report);
    }
    if (this.#hasBands) this.#out.write(flushLine);
  }

  get #hasBands(): boolean {
    return this.#capabilities.has("side-band-64k");
  }

  #writeBand(band: number, data: Buffer) {
    for (let from = 0; from === 0 || from < data.length; from += MAX_BAND_BYTES) {
      const part = data.subarray(from, from + MAX_BAND_BYTES);
      this.#out.write(pktLine(Buffer.concat([Buffer.from([band]), part])));
    }
  }
}

const printable = (text: string) => text.replace(/\p{Cc}/gu, " ");
const short = (reason: string) => printable(reason).slice(0, MAX_REASON_CHARACTERS);
