/** A group of digits in a dump, at an index of its line. */
export interface DumpWord {
  start: number;
  end: number;
  digits: string;
}

/** One byte in a dump that shows characters, at an index of its line. */
export interface DumpCell {
  start: number;
  end: number;
  byte: number;
}

export interface DumpLine {
  words: DumpWord[];
  cells: DumpCell[];
  /** Whether the line also shows its bytes as text, after the digits. */
  hasText: boolean;
}

/** Longer lines are not dumps. `xxd` shows at most 256 bytes in a line, which takes almost this many characters. */
export const MAX_DUMP_LINE = 1024;

const offset = /( ?)([0-9a-f]{6,16})(:?)(?=\s|$)/iy;
const word = /(?:0x)?([0-9a-f]+)(?=[\s,]|$)/iy;
const wordGap = /[\s,]*/y;
/** `od -c` and `hexdump -c` show each byte in four columns. */
const cell = / ([0-7]{3})| {2}\\([0abfnrtv])| {3}([^\n])/y;
const escapes: Record<string, number> = { 0: 0, a: 7, b: 8, f: 12, n: 10, r: 13, t: 9, v: 11 };

/**
 * Parses a line of a hex, octal or character dump, which is latin1 text without its line break. Returns undefined for
 * other lines. Which bytes the words stand for depends on the tool and its options, so the caller tries all of them.
 */
export function parseDumpLine(line: string): DumpLine | undefined {
  const margin = readMargin(line);
  const textStart = margin.isXxd ? line.indexOf("  ", margin.end + 1) : line.search(/ {2}[|>]/);
  const hasText = textStart >= margin.end;
  const words = readWords(line, margin.end, hasText ? textStart : line.length) ?? [];
  const cells = margin.isXxd ? [] : (readCells(line, margin.end) ?? []);
  return words.length + cells.length > 0 ? { words, cells, hasText } : undefined;
}

/** Returns false only if no line with this beginning is a dump. */
export function canBeDumpLine(beginning: string): boolean {
  if (beginning.length > MAX_DUMP_LINE) return false;
  const margin = readMargin(beginning);
  if (margin.hasOffset) return true;
  const data = beginning.slice(margin.end);
  const isWords = /^[\s,]*(?:(?:0x)?[0-9a-f]+[\s,]+)*(?:0x?)?[0-9a-f]*(?:[|>].*)?$/i.test(data);
  return isWords || readCells(data.slice(0, data.length & ~3), 0) !== undefined;
}

/** Reads a patch's marker and the offset. */
function readMargin(line: string): { end: number; hasOffset: boolean; isXxd: boolean } {
  const start = line.startsWith("+") || line.startsWith("-") ? 1 : 0;
  offset.lastIndex = start;
  const [found, marker, digits, colon] = offset.exec(line) ?? [];
  // After a space, the first word is an offset only if it cannot be data: `od -An` starts its lines with a space.
  const isOffset =
    found !== undefined &&
    (marker === "" || colon === ":" || digits?.length === 7 || line.startsWith("  ", start + found.length));
  if (!isOffset) return { end: start, hasOffset: false, isXxd: false };
  return { end: start + found.length, hasOffset: true, isXxd: colon === ":" };
}

function readWords(line: string, from: number, to: number): DumpWord[] | undefined {
  const words: DumpWord[] = [];
  const data = line.slice(0, to);
  wordGap.lastIndex = from;
  wordGap.exec(data);
  for (let start = wordGap.lastIndex; start < to; start = wordGap.lastIndex) {
    word.lastIndex = start;
    const [found, digits] = word.exec(data) ?? [];
    if (found === undefined || digits === undefined) return undefined;
    words.push({ start, end: start + found.length, digits });
    wordGap.lastIndex = start + found.length;
    wordGap.exec(data);
  }
  return words;
}

function readCells(line: string, from: number): DumpCell[] | undefined {
  const cells: DumpCell[] = [];
  for (let start = from; start < line.length; start += 4) {
    cell.lastIndex = start;
    const [found, octal, letter, character] = cell.exec(line) ?? [];
    if (found === undefined) return line.slice(start).trim() === "" ? cells : undefined;
    const byte = octal
      ? Number.parseInt(octal, 8) & 255
      : letter
        ? (escapes[letter] as number)
        : (character as string).charCodeAt(0);
    cells.push({ start, end: start + 4, byte });
  }
  return cells;
}
