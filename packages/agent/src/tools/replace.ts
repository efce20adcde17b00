import { whyNotFound } from "./closest.ts";

export interface Edit {
  old_text: string;
  new_text: string;
  replace_all?: boolean | undefined;
}

interface ReplaceOptions {
  edits: Edit[];
  /** For what an error quotes of the file. */
  redacted(text: string): string;
}

export type Replaced = { data: Buffer; count: number; firstLine: number } | { problem: string };

/**
 * Makes all edits, one after the other, or none. Letters of one byte each keep every byte that no edit names as it is,
 * whatever the encoding. A file whose lines all end with CR LF keeps them so, and edits may be written with LF.
 */
export function replaceAll(before: Buffer, { edits, redacted }: ReplaceOptions): Replaced {
  let text = before.toString("latin1");
  let count = 0;
  let first = Number.POSITIVE_INFINITY;
  for (const [index, edit] of edits.entries()) {
    const which = edits.length === 1 ? "" : `Edit ${index + 1} of ${edits.length}: `;
    if (edit.old_text === edit.new_text) return { problem: `${which}old_text and new_text are the same.` };
    const { oldText, newText } = inBytes(edit, text);
    const places = placesOf(oldText, text);
    if (places.length === 0)
      return { problem: which + whyNotFound(edit.old_text, { text: asText(text), redacted }) };
    if (places.length > 1 && !edit.replace_all) return { problem: which + notUnique(places, text) };
    count += places.length;
    first = Math.min(first, lineAt(places[0] as number, text));
    text = text.split(oldText).join(newText);
  }
  return { data: Buffer.from(text, "latin1"), count, firstLine: first };
}

function asText(bytes: string): string {
  return Buffer.from(bytes, "latin1")
    .toString()
    .replace(/^\ufeff/, "");
}

function inBytes({ old_text, new_text }: Edit, text: string): { oldText: string; newText: string } {
  const plain = (part: string) => Buffer.from(part).toString("latin1");
  const withReturns = (part: string) => plain(part).replace(/(?<!\r)\n/g, "\r\n");
  const isReturned = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  // Where both kinds of line ends are mixed, what fits decides.
  const fits = text.includes(plain(old_text));
  const put = isReturned || (!fits && text.includes(withReturns(old_text))) ? withReturns : plain;
  return { oldText: put(old_text), newText: put(new_text) };
}

/** As `split` finds them: none overlaps another. */
function placesOf(part: string, text: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

function lineAt(place: number, text: string): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function notUnique(places: number[], text: string): string {
  const lines = places.slice(0, 20).map((place) => lineAt(place, text));
  const more = places.length > lines.length ? ", …" : "";
  return `old_text stands ${places.length} times in the file, at lines ${lines.join(", ")}${more}. Take more of the \
text around the one that you mean, or set replace_all.`;
}
