import { toStorableText } from "./storable-text.ts";

/** The server accepts 64 levels in a request. The value of an event's field is inside several of them. */
const MAX_DEPTH = 48;
const MAX_VALUES = 100_000;
/** In JSON, a character takes up to six bytes, and the server accepts 16 MiB in a request. */
const MAX_CHARACTERS = 2 * 2 ** 20;

/**
 * Converts the fields of an event, an artifact or an outcome to values that the server accepts and PostgreSQL can store,
 * whatever a model or a tool put into them. Every text is redacted and cleaned, including the keys of objects. Parts
 * beyond a limit are replaced with a note. The names of the fields themselves are kept.
 */
export function toStorableFields<T extends object>(fields: T, redact: (text: string) => string): T {
  return new Converter(redact).convert(fields);
}

class Converter {
  readonly #redact: (text: string) => string;
  #values = 0;
  #characters = 0;

  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  convert<T extends object>(fields: T): T {
    const entries = Object.entries(fields).map(([name, value]) => [name, this.#toStorable(value, 1)]);
    return Object.fromEntries(entries) as T;
  }

  #toStorable(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#toText(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) return `[omitted: nested deeper than ${MAX_DEPTH} levels]`;
    if (Array.isArray(value)) {
      return this.#allow(value).map((inner) => this.#toStorable(inner, depth + 1));
    }
    const entries = this.#allow(Object.entries(value));
    return Object.fromEntries(
      entries.map(([key, inner]) => [this.#toKey(key), this.#toStorable(inner, depth + 1)]),
    );
  }

  /** Returns as many of the entries as the limit allows. */
  #allow<E>(entries: E[]): E[] {
    const allowed = Math.min(entries.length, Math.max(0, MAX_VALUES - this.#values));
    this.#values += allowed;
    return allowed === entries.length ? entries : entries.slice(0, allowed);
  }

  /** The server rejects a key that changes an object's prototype in JavaScript. */
  #toKey(key: string): string {
    const text = this.#toText(key);
    return text === "__proto__" ? "[__proto__]" : text;
  }

  #toText(original: string): string {
    const text = this.#redact(original);
    const left = MAX_CHARACTERS - this.#characters;
    this.#characters += Math.min(text.length, left);
    if (text.length <= left) return toStorableText(text);
    return toStorableText(`${text.slice(0, left)}[… ${text.length - left} characters omitted …]`);
  }
}
