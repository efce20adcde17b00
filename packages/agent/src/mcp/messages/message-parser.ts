import { JsonMeter } from "../../json-meter.ts";
import { JobThreads } from "../../threads/job-threads.ts";
import { messageLimits, type ParsedMessage, type PendingMethods } from "./message.ts";
import { excessive, mayBeMessage, parseMessage } from "./parse-message.ts";
import type { ParseJob } from "./parser-program.ts";

/** Larger messages are parsed in a thread. Handing over a smaller one takes longer than parsing it. */
const MAX_INLINE_BYTES = 64 * 1024;
const MAX_INLINE_VALUES = 2_000;

type ParserThreads = JobThreads<ParseJob, ParsedMessage>;

const sharedThreads: ParserThreads = new JobThreads({
  program: new URL("./parser-program.ts", import.meta.url),
  // Leaves time for a busy machine.
  maxMs: 20_000,
  // A message within the limits needs a tenth of this.
  heapMb: 2_048,
});

/** Parses the messages of one server, which occupies at most one thread at a time. */
export class MessageParser {
  readonly #threads: ParserThreads;
  #last: Promise<unknown> = Promise.resolve();

  constructor(threads = sharedThreads) {
    this.#threads = threads;
  }

  /** Parses a message without blocking the caller's thread for long. Never rejects. */
  async parse(bytes: Uint8Array, pending: PendingMethods): Promise<ParsedMessage> {
    if (!mayBeMessage(bytes) || isSmall(bytes)) return parseMessage(bytes, pending);
    const parsed = this.#last.then(() => this.#parseInThread(bytes, pending));
    this.#last = parsed;
    return parsed;
  }

  /** A message that takes too long counts as excessive. */
  async #parseInThread(bytes: Uint8Array, pending: PendingMethods): Promise<ParsedMessage> {
    // The copy has a buffer of its own, which can be moved to the thread.
    const copy = new Uint8Array(bytes);
    const outcome = await this.#threads.run({ bytes: copy, pending }, { transfer: [copy.buffer] });
    switch (outcome.type) {
      case "done":
        return outcome.result;
      case "timed_out":
        return excessive(`takes longer than ${outcome.seconds} s to read`);
      case "failed":
        return excessive("cannot be read");
    }
  }
}

function isSmall(bytes: Uint8Array): boolean {
  if (bytes.length > MAX_INLINE_BYTES) return false;
  const meter = new JsonMeter({ ...messageLimits, values: MAX_INLINE_VALUES });
  meter.push(bytes);
  return meter.excess === undefined;
}
