import { limits } from "@outrider/contract/limits";
import { Refusal } from "../engine/refusal.ts";
import { endOfString } from "./members.ts";

const [QUOTE, COMMA] = [34, 44];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/**
 * Counts before anything is made of the text: a megabyte of brackets or of commas becomes half a million objects, and
 * whoever looks at each of them keeps everybody else waiting. Text that is no JSON is left for the parser to refuse.
 */
export function requireModest(text: string, mostValues: number) {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) return;
    } else if (character === OPEN_LIST || character === OPEN_OBJECT) {
      values++;
      if (++depth > limits.jsonDepth)
        throw new Refusal("invalid_request", `The body is nested deeper than ${limits.jsonDepth} levels.`);
    } else if (character === CLOSE_LIST || character === CLOSE_OBJECT) {
      depth--;
    } else if (character === COMMA && ++values > mostValues) {
      throw new Refusal("invalid_request", `The body holds more than ${mostValues} values.`);
    }
  }
}
