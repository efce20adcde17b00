/** Shorter lines of a multi-line secret are not searched for by themselves, because they may be ordinary words. */
const MIN_LINE_CHARACTERS = 16;
/**
 * A longer value is cut into pieces, which are matched one by one. The pieces overlap, so the matches of a complete value
 * are merged. Pieces limit how much text is held back while a match is open.
 */
export const MAX_PATTERN_BYTES = 1024;

/** The values to search for, decoded. */
export interface SecretPatterns {
  /** Searched for in the text as it is and in its decoded forms. */
  plain: Buffer[];
  /** Multi-line values without their line breaks, searched for in text whose line breaks are ignored. */
  joined: Buffer[];
}

/**
 * Returns the patterns of a secret: the value, the value without surrounding white space, because a secret that was
 * stored with a trailing line break is often printed without it, and its long lines.
 */
export function secretPatterns(secret: string): SecretPatterns {
  const values = [...new Set([secret, secret.trim()])].filter((value) => value !== "");
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const longLines = lines.filter(
    (line) => line.length >= MIN_LINE_CHARACTERS && !(line.startsWith("-----") && line.endsWith("-----")),
  );
  // One-line secrets are not matched across line breaks: a column of single letters could match a short secret.
  const multiLine = values.filter((value) => value.trim().includes("\n"));
  const joined = multiLine.map((value) => value.replaceAll(/\r?\n/g, ""));
  return { plain: toPatterns([...values, ...longLines]), joined: toPatterns(joined) };
}

function toPatterns(values: string[]): Buffer[] {
  return [...new Set(values)].flatMap((value) => cut(Buffer.from(value)));
}

/** Cuts a long value into pieces that overlap by at least one character. */
function cut(value: Buffer): Buffer[] {
  if (value.length <= MAX_PATTERN_BYTES) return [value];
  const pieces: Buffer[] = [];
  for (let start = 0; ; ) {
    // The last piece is as long as the others, because a short piece could occur in ordinary text.
    if (start + MAX_PATTERN_BYTES >= value.length) {
      const fullLength = characterStart(value, value.length - MAX_PATTERN_BYTES + 3);
      return [...pieces, value.subarray(Math.min(start, fullLength))];
    }
    const end = characterStart(value, start + MAX_PATTERN_BYTES);
    pieces.push(value.subarray(start, end));
    start = characterStart(value, end - 1);
  }
}

/** Returns the start of the UTF-8 character at an index. */
function characterStart(value: Buffer, index: number): number {
  let start = index;
  while (start > 0 && ((value[start] as number) & 0xc0) === 0x80) start--;
  return start;
}
