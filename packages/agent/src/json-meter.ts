/**
 * Counts the values and the depth of JSON text before it is parsed.
 *
 * `JSON.parse` builds every value before anyone can count them, and a validator that rejects each of a million items
 * builds a million error messages. Text from outside is therefore measured first. The meter reads each byte once,
 * allocates nothing, and accepts text in chunks. It ignores syntax errors, which the parser reports later.
 */

export interface JsonLimits {
  /** Maximum number of nested objects and arrays. */
  depth: number;
  /** Maximum number of fields and items at all depths. */
  values: number;
}

const [QUOTE, COMMA, BACKSLASH] = [34, 44, 92];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

export class JsonMeter {
  readonly #limits: JsonLimits;
  #depth = 0;
  #values = 0;
  #isInString = false;
  #isEscaped = false;
  /** Describes the limit that the text exceeds, if any. The text is the subject of the sentence. */
  excess: string | undefined;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  /** Returns the number of values so far. */
  get values(): number {
    return this.#values;
  }

  /** Measures the next UTF-8 bytes of the text, which are a range of these bytes. */
  push(bytes: Uint8Array, from = 0, end = bytes.length) {
    const { depth: maxDepth, values: maxValues } = this.#limits;
    let depth = this.#depth;
    let values = this.#values;
    let isInString = this.#isInString;
    let isEscaped = this.#isEscaped;
    for (let at = from; at < end; at++) {
      const byte = bytes[at];
      if (isInString) {
        if (isEscaped) {
          isEscaped = false;
          continue;
        }
        // Most of a text is in strings, and searching for a quote is much faster than reading each byte.
        const quote = bytes.indexOf(QUOTE, at);
        const stop = quote < 0 || quote >= end ? end : quote;
        const isStopEscaped = isEscapedAt(bytes, at, stop);
        isInString = stop === end || isStopEscaped;
        isEscaped = stop === end && isStopEscaped;
        at = stop;
      } else if (byte === QUOTE) {
        isInString = true;
      } else if (byte === COMMA) {
        values += 1;
      } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        values += 1;
        depth += 1;
        if (depth > maxDepth) {
          this.excess ??= `is nested deeper than ${maxDepth} levels`;
          return;
        }
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        depth -= 1;
      }
      if (values > maxValues) {
        this.excess ??= `contains more than ${maxValues} values`;
        return;
      }
    }
    this.#depth = depth;
    this.#values = values;
    this.#isInString = isInString;
    this.#isEscaped = isEscaped;
  }

  /** Notes the end of a line. A JSON string never contains a line break. */
  endLine() {
    this.#isInString = false;
    this.#isEscaped = false;
  }

  /** Starts over with a new text. */
  reset() {
    this.endLine();
    this.#depth = 0;
    this.#values = 0;
  }
}

/** Returns whether the position follows an odd number of backslashes, which begin at `from` at the earliest. */
function isEscapedAt(bytes: Uint8Array, from: number, position: number): boolean {
  let at = position;
  while (at > from && bytes[at - 1] === BACKSLASH) at -= 1;
  return (position - at) % 2 === 1;
}

/** Returns the limit that the text exceeds, as the rest of a sentence about the text, or undefined. */
export function findExcess(text: string | Uint8Array, limits: JsonLimits): string | undefined {
  const meter = new JsonMeter(limits);
  meter.push(typeof text === "string" ? Buffer.from(text) : text);
  return meter.excess;
}
