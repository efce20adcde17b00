/** `base64`, `xxd -p` and their like break lines, and none of them oftener than this. */
const SHORTEST_LINE = 16;
/** A line of a secret that is shorter is only found together with the others: it may be any word. */
const OWN_LINE = 16;

/** A way in which a secret may be written. */
export interface Form {
  /** In lower case: what encodes bytes in letters of either case is told apart by nobody. */
  text: string;
  /** Whether lines may be broken within it, in a patch too, where every line begins with a mark. */
  wraps: boolean;
}

/**
 * As it is, URL-encoded, in hex and in base64 at any of its three alignments. One that was stored with the line break
 * at its end is often printed without.
 */
export function formsOf(secret: string): Form[] {
  const values = [...new Set([secret, secret.trim()])].filter((value) => value !== "");
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const plain = [
    ...values.flatMap((value) => [
      value,
      encodeURIComponent(value),
      new URLSearchParams([["", value]]).toString().slice(1),
    ]),
    ...lines.filter((line) => line.length >= OWN_LINE && !/^-----.*-----$/.test(line)),
  ];
  const wrapping = values.flatMap((value) => [
    // Of one line, no more than as it is: the letters of a column would else make up a short secret.
    ...(value.trim().includes("\n") ? [value.replaceAll(/\r?\n/g, "")] : []),
    Buffer.from(value).toString("hex"),
    ...base64Forms(Buffer.from(value)),
  ]);
  const all = [
    ...plain.map((text) => ({ text: inLowerCase(text), wraps: false })),
    ...wrapping.map((text) => ({ text: inLowerCase(text), wraps: true })),
  ];
  return [...new Map(all.map((form) => [`${form.text} ${form.wraps}`, form])).values()];
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

/** Of one letter, so that every letter stays in its place; rules for all alphabets do not promise that. */
export function lowerCodeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 65 && code <= 90 ? code + 32 : code;
}

function inLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function longestOf({ text, wraps }: Form): number {
  return text.length + (wraps ? 3 * Math.ceil(text.length / SHORTEST_LINE) : 0);
}

export const ABSENT = -1;
/** The text ends before the form does. */
export const OPEN = Number.POSITIVE_INFINITY;

/** Where a form ends that begins at a place of a text. No regular expression: a long key makes one burst. */
export function endOf(form: Form, text: string, at: number): number {
  const plain = follow(form, text, { at, isPatch: false });
  return form.wraps && plain === ABSENT ? follow(form, text, { at, isPatch: true }) : plain;
}

const [lineFeed, carriageReturn] = [10, 13];
const marks = ["+", "-", " "].map((mark) => mark.charCodeAt(0));

function follow(form: Form, text: string, { at, isPatch }: { at: number; isPatch: boolean }): number {
  let broken = 0;
  for (let index = 0; index < form.text.length; ) {
    if (at === text.length) return OPEN;
    const code = lowerCodeAt(text, at);
    if (code === form.text.charCodeAt(index)) {
      index += 1;
      at += 1;
      continue;
    }
    // Between two letters there may be one break, and none before the first.
    if (!form.wraps || index === broken) return ABSENT;
    broken = index;
    if (code === carriageReturn) at += 1;
    if (at === text.length) return OPEN;
    if (text.charCodeAt(at) !== lineFeed) return ABSENT;
    at += 1;
    if (isPatch && marks.includes(text.charCodeAt(at))) at += 1;
  }
  return at;
}
