import type { Automaton } from "./automaton.ts";
import { ByteWindow } from "./byte-window.ts";
import { BACKSLASH, BackslashDecoder } from "./decoders/backslash-decoder.ts";
import { AMPERSAND, EntityDecoder } from "./decoders/entity-decoder.ts";
import { PERCENT, PercentDecoder } from "./decoders/percent-decoder.ts";
import { QUOTE, QuoteDecoder } from "./decoders/quote-decoder.ts";
import { type ByteSink, Matcher } from "./matcher.ts";
import { SpanList } from "./span-list.ts";
import { Base64View } from "./views/base64-view.ts";
import { DumpView } from "./views/dump-view.ts";
import { EscapeView } from "./views/escape-view.ts";
import { HexView } from "./views/hex-view.ts";
import { JoinedLinesView } from "./views/joined-lines-view.ts";
import { VerbatimView } from "./views/verbatim-view.ts";
import type { View } from "./views/view.ts";

const mask = Buffer.from("***");
const [lineFeed, plus, minus, space] = [10, 43, 45, 32];
/** A long text is read in parts, so that the found positions do not accumulate. */
const PART_BYTES = 64 * 1024;

/** The automata for the two kinds of patterns (see secret-patterns.ts). */
export interface Automata {
  plain: Automaton;
  joined: Automaton | undefined;
}

/**
 * What is preserved of a masked text: nothing, its line breaks, or in a patch its line breaks with the marker of the
 * next line, so that the line counts in the patch remain correct.
 */
export type Preserve = "nothing" | "lines" | "patch";

/** Redacts bytes that arrive in chunks. See redact.ts for how it works. */
export class ByteRedactor {
  readonly #views: View[];
  readonly #spans = new SpanList();
  readonly #window = new ByteWindow();
  readonly #preserve: Preserve;
  /** The position up to which the text belongs to a secret whose mask has already been passed on. */
  #maskedUntil = 0;
  #isAfterBreak = false;
  /** Whether the text contained a secret. */
  hasFound = false;

  constructor(automata: Automata, { preserve = "nothing" }: { preserve?: Preserve } = {}) {
    this.#views = createViews(automata, this.#spans);
    this.#preserve = preserve;
  }

  /** Returns the text that cannot belong to a secret any more, with all secrets masked. */
  push(chunk: Uint8Array): Buffer {
    const passed: Buffer[] = [];
    const window = this.#window;
    for (let start = 0; start < chunk.length; start += PART_BYTES) {
      const from = window.end;
      window.append(chunk.subarray(start, start + PART_BYTES));
      let open = window.end;
      for (const view of this.#views) {
        view.scan(window, from);
        open = Math.min(open, view.openFrom());
      }
      this.#pass(open, passed);
    }
    return join(passed);
  }

  /** Returns the rest of the text. */
  end(): Buffer {
    const passed: Buffer[] = [];
    for (const view of this.#views) view.end(this.#window);
    this.#pass(this.#window.end, passed);
    return join(passed);
  }

  /** Prepares for another text, which is cheaper than a new object. */
  reset() {
    for (const view of this.#views) view.reset();
    this.#spans.clear();
    this.#window.clear();
    this.#maskedUntil = 0;
    this.#isAfterBreak = false;
    this.hasFound = false;
  }

  #pass(limit: number, passed: Buffer[]) {
    const window = this.#window;
    let position = window.first;
    for (const { start, end } of this.#spans.takeBefore(limit)) {
      this.hasFound = true;
      if (start >= this.#maskedUntil) {
        this.#passUntil(position, start, passed);
        position = Math.max(position, start);
        passed.push(mask);
        this.#isAfterBreak = false;
      }
      this.#maskedUntil = Math.max(this.#maskedUntil, end);
    }
    this.#passUntil(position, limit, passed);
    window.release(limit);
  }

  #passUntil(position: number, limit: number, passed: Buffer[]) {
    const plainStart = Math.max(position, Math.min(this.#maskedUntil, limit));
    if (this.#preserve !== "nothing" && position < plainStart)
      this.#passLineBreaks(position, plainStart, passed);
    // The window's buffer is reused, so the bytes are copied.
    if (plainStart < limit) passed.push(Buffer.from(this.#window.slice(plainStart, limit)));
  }

  #passLineBreaks(start: number, end: number, passed: Buffer[]) {
    const { bytes, base } = this.#window;
    const preserved: number[] = [];
    for (let position = start; position < end; position++) {
      const byte = bytes[position - base] as number;
      const isMarker = byte === plus || byte === minus || byte === space;
      if (byte === lineFeed || (this.#isAfterBreak && isMarker && this.#preserve === "patch"))
        preserved.push(byte);
      this.#isAfterBreak = byte === lineFeed;
    }
    if (preserved.length > 0) passed.push(Buffer.from(preserved));
  }
}

function join(parts: Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}

function createViews({ plain, joined }: Automata, spans: SpanList): View[] {
  const escapes = (trigger: number, createDecoder: (sink: ByteSink) => ByteSink) => {
    const matcher = new Matcher(plain, spans);
    return new EscapeView({ trigger, matcher, decoder: createDecoder(matcher), maxLength: plain.maxLength });
  };
  return [
    new VerbatimView(plain, spans),
    escapes(PERCENT, (sink) => new PercentDecoder(sink)),
    escapes(BACKSLASH, (sink) => new BackslashDecoder(sink)),
    escapes(BACKSLASH, (sink) => new BackslashDecoder(sink, { numbersAre: "characters" })),
    // JSON in a JSON string.
    escapes(BACKSLASH, (sink) => new BackslashDecoder(new BackslashDecoder(sink))),
    escapes(AMPERSAND, (sink) => new EntityDecoder(sink)),
    escapes(QUOTE, (sink) => new QuoteDecoder(sink)),
    ...[false, true].map((isPatch) => new Base64View(plain, spans, { isPatch })),
    new HexView(plain, spans),
    new DumpView(plain, spans),
    ...(joined
      ? [false, true].map((isPatch) => new JoinedLinesView(new Matcher(joined, spans), { isPatch }))
      : []),
  ];
}
