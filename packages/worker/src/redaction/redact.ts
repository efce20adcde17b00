/**
 * Removes known secret values from everything that leaves the worker.
 *
 * Text leaves the worker in three forms, each redacted by the modules named here:
 * - Events, outcomes and the names of artifacts: `run/reporter.ts`. The agent continues with the redacted event.
 * - Deltas, the text of an unfinished message: `run/delta-stream.ts`.
 * - Files: the output of commands (`workspace/command-recorder.ts`), artifacts (`workspace/store-artifact.ts`,
 *   `workspace/execution-files.ts`), and the run's diff (`workspace/diff.ts`).
 *
 * A part of a secret is not recognized. Text that is shortened, such as a patch, a page of a file or the result of an
 * MCP tool, is therefore redacted before it is shortened, even if it then becomes part of an event.
 *
 * Programs print secrets in many encodings. Instead of searching for every encoding of every secret, the redactor reads
 * the text in several ways (see views/): as it is, with escape sequences decoded, as base64, as hex digits, and as lines
 * of a dump. Each view decodes the text to bytes and searches them for the secrets with the same Aho-Corasick automaton.
 * The number of views is constant and each takes linear time, so the number of secrets does not matter. ASCII case is
 * ignored. Each match is replaced with `***`. Overlapping matches are merged.
 *
 * Everything is matched as UTF-8 bytes, so that binary data is preserved and characters need no special treatment.
 *
 * Text arrives in chunks, and a secret can be split across chunks. ByteRedactor therefore works as follows:
 * - Each view reports the first position that may belong to a secret whose end it has not read yet (an open match).
 * - The text before the first of these positions is passed on, with all matches replaced. The rest is held back.
 * - `end` passes on the remaining text.
 *
 * If a match begins before that position and ends after it, its mask is passed on at once, and the rest of the match is
 * dropped later. What is masked never depends on the chunks. The amount of held text is limited, because patterns are
 * short (see secret-patterns.ts) and no view skips over long gaps.
 */
import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { Automaton } from "./automaton.ts";
import { type Automata, ByteRedactor, type Preserve } from "./byte-redactor.ts";
import { mapFields } from "./map-strings.ts";
import { secretPatterns } from "./secret-patterns.ts";

export class Redactor {
  /** Undefined if there are no secrets. */
  #automata: Automata | undefined;
  #secrets: ReadonlySet<string> = new Set();
  /** Reused for each complete text, because most events are short. */
  readonly #shared = new Map<Preserve, ByteRedactor>();

  constructor(secrets: string[]) {
    this.add(secrets);
  }

  /** Adds secrets that become known later. Streams that are already open do not recognize them. */
  add(secrets: string[]): void {
    const known = this.#secrets.size;
    this.#secrets = new Set([...this.#secrets, ...secrets]);
    if (this.#secrets.size === known) return;
    const patterns = [...this.#secrets].map(secretPatterns);
    const plain = patterns.flatMap((each) => each.plain);
    const joined = patterns.flatMap((each) => each.joined);
    if (plain.length === 0) return;
    this.#automata = {
      plain: new Automaton(plain),
      joined: joined.length > 0 ? new Automaton(joined) : undefined,
    };
    this.#shared.clear();
  }

  redact(text: string): string {
    return this.#redactText(text, "nothing");
  }

  /** Redacts a text without changing its number of lines. */
  redactLines(text: string): string {
    return this.#redactText(text, "lines");
  }

  /** Redacts a patch without changing the number of lines that it adds and removes. */
  redactPatch(text: string): string {
    return this.#redactText(text, "patch");
  }

  /** Redacts every string in a JSON object, at any depth, except for the names of the object's own fields. */
  redactAll<T extends object>(value: T): T {
    return this.#automata ? mapFields(value, (text) => this.redact(text)) : value;
  }

  /** Redacts a file's content. A binary file that contains a secret is corrupted; one without secrets is unchanged. */
  redactBytes(data: Uint8Array): Uint8Array {
    return this.#redactWhole(data, "nothing") ?? data;
  }

  /** Redacts text that arrives in chunks. */
  stream(): StreamRedactor {
    return new StreamRedactor(this.byteStream());
  }

  /** Redacts bytes that arrive in chunks. */
  byteStream({ preserve = "nothing" }: { preserve?: Preserve } = {}): ByteStream {
    return this.#automata ? new ByteRedactor(this.#automata, { preserve }) : new UnchangedBytes();
  }

  #redactText(text: string, preserve: Preserve): string {
    // An encoded secret is at least as long as the secret, and a UTF-16 code unit has at most three bytes.
    if (!this.#automata || text.length * 3 < this.#automata.plain.minLength) return text;
    return this.#redactWhole(Buffer.from(text), preserve)?.toString() ?? text;
  }

  /** Returns undefined if there is no secret. */
  #redactWhole(data: Uint8Array, preserve: Preserve): Buffer | undefined {
    if (!this.#automata) return undefined;
    const redactor = this.#shared.get(preserve) ?? new ByteRedactor(this.#automata, { preserve });
    this.#shared.set(preserve, redactor);
    redactor.reset();
    const redacted = [redactor.push(data), redactor.end()];
    return redactor.hasFound ? Buffer.concat(redacted) : undefined;
  }
}

export type ByteStream = Pick<ByteRedactor, "push" | "end" | "hasFound">;

/** Used if there are no secrets. */
class UnchangedBytes implements ByteStream {
  readonly hasFound = false;

  push(chunk: Uint8Array): Buffer {
    return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }

  end(): Buffer {
    return Buffer.alloc(0);
  }
}

/** Creates a stream that redacts bytes. */
export function createRedactTransform(redactor: Redactor, options: { preserve?: Preserve } = {}): Transform {
  const stream = redactor.byteStream(options);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, stream.push(chunk));
    },
    flush(done) {
      done(null, stream.end());
    },
  });
}

/** Decodes UTF-8 chunks to redacted text. Characters and secrets may be split across chunks. */
export function createTextRedactor(redactor: Redactor) {
  const decoder = new StringDecoder("utf8");
  const stream = redactor.byteStream();
  return {
    push: (data: Buffer) => decoder.write(stream.push(data)),
    end: () => decoder.write(stream.end()) + decoder.end(),
  };
}

/** Redacts text that arrives in chunks. */
export class StreamRedactor {
  readonly #bytes: ByteStream;
  readonly #decoder = new StringDecoder("utf8");
  /** The first half of a surrogate pair, which waits for the second. */
  #half = "";

  constructor(bytes: ByteStream) {
    this.#bytes = bytes;
  }

  push(chunk: string): string {
    const text = this.#half + chunk;
    const end = /[\ud800-\udbff]$/.test(text) ? text.length - 1 : text.length;
    this.#half = text.slice(end);
    return this.#decoder.write(this.#bytes.push(Buffer.from(text.slice(0, end))));
  }

  end(): string {
    const rest = Buffer.concat([this.#bytes.push(Buffer.from(this.#half)), this.#bytes.end()]);
    return this.#decoder.write(rest) + this.#decoder.end();
  }
}
