import { limits } from "@outrider/contract/limits";
import { Refusal } from "../engine/refusal.ts";
import { endOfString } from "./members.ts";

const [QUOTE, COMMA] = [34, 44];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/** The most that a body may hold in all, and in one object or list. */
export interface Modesty {
  values: number;
  entries: number;
}

export const callersModesty: Modesty = { values: limits.jsonValues, entries: limits.jsonEntries };

/** Servers believe their workers. */
export const workersModesty: Modesty = {
  values: Number.POSITIVE_INFINITY,
  entries: Number.POSITIVE_INFINITY,
};

/**
 * Counts before anything is made of the text: a megabyte of brackets or of commas becomes half a million objects, and
 * whoever looks at each of them keeps everybody else waiting. Text that is no JSON is left for the parser to refuse.
 */
export function requireModest(text: string, { values: mostValues, entries: mostEntries }: Modesty) {
  /** Commas so far, of each object and list that is open. */
  const open: number[] = [];
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return;
    } else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      values++;
      if (open.push(0) > limits.jsonDepth)
        throw new Refusal("invalid_request", `The body is nested deeper than ${limits.jsonDepth} levels.`);
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) {
      open.pop();
    } else if (character === COMMA) {
      const entries = 2 + (open[open.length - 1] ?? 0);
      if (entries > mostEntries)
        throw new Refusal(
          "invalid_request",
          `The body has more than ${mostEntries} entries in one object or list.`,
        );
      open[open.length - 1] = entries - 1;
      if (++values > mostValues)
        throw new Refusal("invalid_request", `The body holds more than ${mostValues} values.`);
    }
  }
}
