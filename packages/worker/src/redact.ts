import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";

const MASK = "***";
/** `base64`, `xxd -p` and their like break lines, and none of them oftener than this. */
const SHORTEST_LINE = 16;

interface Form {
  /** In lower case: what encodes bytes in letters of either case is told apart by nobody. */
  text: string;
  /** Whether lines may be broken within it. */
  wraps: boolean;
}

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
  private readonly forms: Form[];
  private readonly pattern: RegExp | undefined;
  private readonly reach: number;

  constructor(secrets: string[]) {
    this.isAscii = secrets.every((secret) => /^[\x20-\x7e\s]*$/.test(secret));
    const all = secrets.filter((secret) => secret.length > 0).flatMap(formsOf);
    this.forms = [...new Map(all.map((form) => [`${form.text} ${form.wraps}`, form])).values()];
    this.forms.sort((a, b) => b.text.length - a.text.length);
    this.reach = Math.max(0, ...this.forms.map(longestOf));
    // Looking ahead finds what begins inside of another, too.
    if (all.length > 0) this.pattern = new RegExp(`(?=(${this.forms.map(patternOf).join("|")}))`, "gi");
  }

  text(text: string): string {
    if (!this.pattern) return text;
    const stream = this.stream();
    return stream.push(text) + stream.end();
  }

  /** Every text in a value, wherever it stands. */
  all<T>(value: T): T {
    if (!this.pattern) return value;
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
    for (const { index, 1: found = "" } of this.pattern ? text.matchAll(this.pattern) : []) {
      const last = spans.at(-1);
      const to = index + found.length;
      if (last && index < last.to) last.to = Math.max(last.to, to);
      else spans.push({ from: index, to });
    }
    return spans;
  }

  /** From where on a text may be the beginning of a secret, of which more is to come. */
  openEndOf(text: string): number {
    for (let at = Math.max(0, text.length - this.reach); at < text.length; at++) {
      // A glance at a few letters spares most places the whole comparison.
      if (this.mayBegin(text.slice(at, at + 8)) && this.mayBegin(text.slice(at))) return at;
    }
    return text.length;
  }

  private mayBegin(part: string): boolean {
    const plain = part.toLowerCase();
    const joined = plain.replace(/\r?\n|\r$/g, "");
    return this.forms.some(({ text, wraps }) => {
      const beginning = wraps ? joined : plain;
      return beginning[0] === plain[0] && beginning.length < text.length && text.startsWith(beginning);
    });
  }
}

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

function formsOf(secret: string): Form[] {
  const bytes = Buffer.from(secret);
  const plain = [secret, encodeURIComponent(secret), new URLSearchParams([["", secret]]).toString().slice(1)];
  return [
    ...plain.map((text) => ({ text: text.toLowerCase(), wraps: false })),
    ...[bytes.toString("hex"), ...base64Forms(bytes)].map((text) => ({
      text: text.toLowerCase(),
      wraps: true,
    })),
  ];
}

/** What stands in the middle of a longer base64 text, whatever comes before and after. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor((padded.length * 8) / 6);
    const form = padded.toString("base64").slice(first, last);
    return form.length >= 6 ? [form, form.replaceAll("+", "-").replaceAll("/", "_")] : [];
  });
}

function patternOf({ text, wraps }: Form): string {
  return wraps ? [...text].map(escaped).join("(?:\\r?\\n)?") : escaped(text);
}

function longestOf({ text, wraps }: Form): number {
  return text.length + (wraps ? 2 * Math.ceil(text.length / SHORTEST_LINE) : 0);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
