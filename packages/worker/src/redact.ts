import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { ABSENT, endOf, type Form, formsOf, longestOf, lowerCodeAt, OPEN } from "./secret-forms.ts";

const MASK = "***";

interface Span {
  from: number;
  to: number;
}

/**
 * Takes known secret values out of everything before it leaves the worker: as they are, in base64 at any of its three
 * alignments, in hex and URL-encoded.
 */
export class Redactor {
  readonly isAscii: boolean;
  /** By the letter that they begin with. */
  private readonly forms = new Map<number, Form[]>();
  private readonly reach: number;

  constructor(secrets: string[]) {
    this.isAscii = secrets.every((secret) => /^[\x20-\x7e\s]*$/.test(secret));
    const all = secrets.flatMap(formsOf);
    for (const form of all) {
      const first = form.text.charCodeAt(0);
      this.forms.set(first, [...(this.forms.get(first) ?? []), form]);
    }
    this.reach = Math.max(0, ...all.map(longestOf));
  }

  text(text: string): string {
    if (this.forms.size === 0) return text;
    const stream = this.stream();
    return stream.push(text) + stream.end();
  }

  /** The same, on as many lines as before. */
  lines(text: string): string {
    if (this.forms.size === 0) return text;
    let out = "";
    let at = 0;
    for (const { from, to } of this.spansOf(text)) {
      out += text.slice(at, from) + MASK + text.slice(from, to).replaceAll(/[^\n]+/g, "");
      at = to;
    }
    return out + text.slice(at);
  }

  /** Every text in a value, wherever it stands. */
  all<T>(value: T): T {
    if (this.forms.size === 0) return value;
    return JSON.parse(JSON.stringify(value), (_, inner) =>
      typeof inner === "string" ? this.text(inner) : inner,
    ) as T;
  }

  stream(): StreamRedactor {
    return new StreamRedactor(this);
  }

  /** Where secrets stand. Those that overlap count as one. */
  spansOf(text: string): Span[] {
    const spans: Span[] = [];
    for (let from = 0; from < text.length; from++) {
      const to = this.endAt(text, from);
      if (to === ABSENT) continue;
      const last = spans.at(-1);
      if (last && from < last.to) last.to = Math.max(last.to, to);
      else spans.push({ from, to });
    }
    return spans;
  }

  /** From where on a text may be the beginning of a secret, of which more is to come. */
  openEndOf(text: string): number {
    for (let at = Math.max(0, text.length - this.reach); at < text.length; at++) {
      const forms = this.forms.get(lowerCodeAt(text, at));
      if (forms?.some((form) => endOf(form, text, at) === OPEN)) return at;
    }
    return text.length;
  }

  /** Of the longest that begins there. */
  private endAt(text: string, at: number): number {
    let longest = ABSENT;
    for (const form of this.forms.get(lowerCodeAt(text, at)) ?? none) {
      const end = endOf(form, text, at);
      if (end !== OPEN && end > longest) longest = end;
    }
    return longest;
  }
}

const none: Form[] = [];

/**
 * The same for bytes. Latin letters keep every byte as it is, whatever its encoding; only a secret of other letters
 * has to be looked for in UTF-8.
 */
export function redacting(redactor: Redactor): Transform {
  const decoder = new StringDecoder(redactor.isAscii ? "latin1" : "utf8");
  const encoding = redactor.isAscii ? "latin1" : "utf8";
  const clean = redactor.stream();
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, Buffer.from(clean.push(decoder.write(chunk)), encoding));
    },
    flush(done) {
      done(null, Buffer.from(clean.push(decoder.end()) + clean.end(), encoding));
    },
  });
}

/** Bytes as text without secrets, over the borders of chunks. */
export function cleanTexts(redactor: Redactor) {
  const decoder = new StringDecoder("utf8");
  const clean = redactor.stream();
  return {
    push: (data: Buffer) => clean.push(decoder.write(data)),
    end: () => clean.push(decoder.end()) + clean.end(),
  };
}

/** For text that comes in chunks: what may be the beginning of a secret is held back until more is known. */
export class StreamRedactor {
  private held = "";
  /** So much of what is held belongs to a secret whose mask is out already. */
  private masked = 0;
  private readonly redactor: Redactor;

  constructor(redactor: Redactor) {
    this.redactor = redactor;
  }

  push(chunk: string): string {
    const text = this.held + chunk;
    return this.pass(text, this.redactor.openEndOf(text));
  }

  end(): string {
    return this.pass(this.held, this.held.length);
  }

  private pass(text: string, end: number): string {
    let out = "";
    let at = this.masked;
    for (const { from, to } of this.redactor.spansOf(text)) {
      if (from >= end) break;
      const goesOn = from < this.masked;
      out += text.slice(at, Math.max(at, from)) + (goesOn ? "" : MASK);
      at = Math.max(at, to);
    }
    this.held = text.slice(end);
    this.masked = Math.max(0, at - end);
    return out + text.slice(at, Math.max(at, end));
  }
}
