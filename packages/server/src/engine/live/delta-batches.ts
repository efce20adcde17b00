import { MESSAGE_BYTES } from "./server-channel.ts";

/** With the announcements of watched runs, a server sends fewer than 20 notifications a second. */
const BATCH_MS = 60;
/** Text of this length fits into one message, even if JSON escapes each of its characters. */
const PIECE_CHARACTERS = 1_200;
/** Text beyond this many pieces is dropped. It means that agents write faster than the batches can carry. */
const MAX_PIECES = 500;

/** A piece of a message that an agent is writing. */
export interface Delta {
  runId: string;
  executionId: string;
  /** The number of the delta within its execution. Earlier versions of the worker do not send it. */
  index?: number | undefined;
  text: string;
}

/** Consecutive deltas of one execution, or a part of a long delta. */
export interface DeltaPiece extends Delta {
  /** The number of deltas that end in this piece: 0 for every part of a long delta except the last. */
  count: number;
}

interface DeltaBatchesOptions {
  send(message: string): void;
  onDropped(): void;
  onReceived(piece: DeltaPiece): void;
}

/** Collects the deltas for other servers, and sends them in one message every BATCH_MS. */
export class DeltaBatches {
  readonly #options: DeltaBatchesOptions;
  #pieces: DeltaPiece[] = [];
  /** The last piece of each run, to which the next delta may be appended. */
  readonly #lastPieces = new Map<string, DeltaPiece>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DeltaBatchesOptions) {
    this.#options = options;
  }

  add(delta: Delta) {
    const { text } = delta;
    for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
      const end = start + PIECE_CHARACTERS;
      this.#append({ ...delta, text: text.slice(start, end), count: end < text.length ? 0 : 1 });
    }
    this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  /** Reads a message of another server. */
  receive(message: string) {
    for (const line of message.split("\n")) {
      const [runId, executionId, index, count, text] = JSON.parse(line);
      this.#options.onReceived({ runId, executionId, index: index ?? undefined, count, text });
    }
  }

  close() {
    clearTimeout(this.#timer);
  }

  #append(piece: DeltaPiece) {
    const last = this.#lastPieces.get(piece.runId);
    if (last && follows(last, piece)) {
      last.text += piece.text;
      last.count += piece.count;
    } else if (this.#pieces.length < MAX_PIECES) {
      this.#pieces.push(piece);
      this.#lastPieces.set(piece.runId, piece);
    } else this.#options.onDropped();
  }

  #flush() {
    this.#timer = undefined;
    const lines: string[] = [];
    let bytes = 0;
    for (const { runId, executionId, index, count, text } of this.#pieces) {
      const line = JSON.stringify([runId, executionId, index ?? null, count, text]);
      bytes += Buffer.byteLength(line) + 1;
      // The first line contains the sender.
      if (bytes > MESSAGE_BYTES) break;
      lines.push(line);
    }
    for (const piece of this.#pieces.splice(0, lines.length))
      if (this.#lastPieces.get(piece.runId) === piece) this.#lastPieces.delete(piece.runId);
    this.#options.send(lines.join("\n"));
    if (this.#pieces.length > 0) this.#timer = setTimeout(() => this.#flush(), BATCH_MS);
  }
}

function follows(last: DeltaPiece, next: DeltaPiece): boolean {
  if (last.executionId !== next.executionId || last.text.length + next.text.length > PIECE_CHARACTERS)
    return false;
  if (last.index === undefined || next.index === undefined) return last.index === next.index;
  return last.index + last.count === next.index;
}
