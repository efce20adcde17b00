import { truncateName } from "@outrider/contract/errors/field-error";
import { limits } from "@outrider/contract/limits";
import { ApiError } from "../../engine/api-error.ts";

/**
 * Performs two checks on JSON text that are impossible after `JSON.parse`, which builds all values before they can be
 * counted and silently drops the first of two fields with the same name. Both checks scan the text once and allocate
 * almost nothing.
 */

const QUOTE = '"';
const [QUOTE_CODE, COMMA, COLON] = [34, 44, 58];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

export interface JsonLimits {
  /** Maximum number of values in the whole body. */
  values: number;
  /** Maximum number of entries in one object or array. */
  entries: number;
}

export const callerLimits: JsonLimits = { values: limits.jsonValues, entries: limits.jsonEntries };

/**
 * Workers are trusted and send large event batches. Their limits are above what a worker sends, which contains text from
 * models and tools.
 */
export const workerLimits: JsonLimits = { values: 1_000_000, entries: 200_000 };

/**
 * Rejects a body with too many values before it is parsed. One megabyte of brackets would become half a million
 * objects, and validating them would block the event loop. Ignores syntax errors, which the parser reports later. Returns
 * the number of fields in all objects, which is exact if the text is valid JSON.
 */
export function requireWithinLimits(
  text: string,
  { values: maxValues, entries: maxEntries }: JsonLimits,
): { fields: number } {
  /** The number of commas seen so far in each open object and array. */
  const open: number[] = [];
  let values = 0;
  let fields = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE_CODE) {
      at = endOfString(text, at);
      if (at === -1) return { fields };
    } else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      values++;
      if (open.push(0) > limits.jsonDepth)
        throw new ApiError("invalid_request", `The body is nested deeper than ${limits.jsonDepth} levels.`);
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) {
      open.pop();
    } else if (character === COMMA) {
      const entries = 2 + (open[open.length - 1] ?? 0);
      if (entries > maxEntries)
        throw new ApiError(
          "invalid_request",
          `The body has more than ${maxEntries} entries in one object or array.`,
        );
      open[open.length - 1] = entries - 1;
      if (++values > maxValues)
        throw new ApiError("invalid_request", `The body contains more than ${maxValues} values.`);
    } else if (character === COLON) {
      fields++;
    }
  }
  return { fields };
}

/** Rejects objects with a duplicate field. The text must be valid JSON. */
export function requireUniqueNames(text: string) {
  /** The field names of each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === QUOTE) {
      const end = endOfString(text, at);
      if (isName) addName(open.at(-1), text.slice(at, end + 1));
      isName = false;
      at = end;
    } else if (character === "{") {
      open.push(new Set());
      isName = true;
    } else if (character === "[") {
      open.push(undefined);
      isName = false;
    } else if (character === "}" || character === "]") {
      open.pop();
    } else if (character === ",") {
      isName = open.at(-1) !== undefined;
    }
  }
}

function addName(names: Set<string> | undefined, quotedName: string) {
  const name = JSON.parse(quotedName) as string;
  if (names?.has(name))
    throw new ApiError("invalid_request", `The body contains the field \`${truncateName(name)}\` twice.`);
  names?.add(name);
}

/** Returns the index of the closing quote, or -1 if the string is not terminated. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf(QUOTE, start + 1); ; end = text.indexOf(QUOTE, end + 1)) {
    if (end === -1) return -1;
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}
