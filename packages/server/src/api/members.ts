import { cut } from "@outrider/contract/fault";
import { Refusal } from "../engine/refusal.ts";

const QUOTE = '"';

/** Of a member that stands twice a parser keeps the last and says nothing. We say it. The text must be valid JSON. */
export function requireUniqueMembers(text: string) {
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

function addName(names: Set<string> | undefined, written: string) {
  const name = JSON.parse(written) as string;
  if (names?.has(name))
    throw new Refusal("invalid_request", `The body has the member \`${cut(name)}\` twice.`);
  names?.add(name);
}

/** -1 where it has none. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf(QUOTE, start + 1); ; end = text.indexOf(QUOTE, end + 1)) {
    if (end === -1) return -1;
    let slashes = 0;
    while (text[end - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return end;
  }
}
