/**
 * Splits a Dockerfile into its instructions: continued lines are joined, comments are left out, and the bodies of heredocs
 * are attached. Every character is read a constant number of times, because the file is hostile.
 */
import { splitWords } from "./words.ts";

export interface Heredoc {
  name: string;
  content: string;
  /** Whether variables in the content are replaced. A quoted name prevents that. */
  expands: boolean;
}

export interface RawInstruction {
  /** The number of its first line. */
  line: number;
  /** The number of its last line, before the bodies of heredocs. */
  lastLine: number;
  /** In capital letters. */
  name: string;
  /** Everything after the name. */
  text: string;
  heredocs: Heredoc[];
  /** The text with the bodies of its heredocs, as a shell reads it. */
  script: string;
}

export interface SplitFile {
  /** Continues lines, and escapes characters in words. */
  escapeCharacter: string;
  instructions: RawInstruction[];
}

/** Says what is wrong with an instruction. The caller adds the name of the file. */
export class InstructionError extends Error {
  override name = "InstructionError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

export const MAX_FILE_BYTES = 256 * 1024;
const MAX_INSTRUCTIONS = 1_000;
const MAX_HEREDOCS = 20;
/** A whole word, so that `1 << 2` and `<<< text` are none. */
const heredocMark = /^\d*<<(-?)(?:"([^"<]+)"|'([^'<]+)'|([^<'"()]+))$/;
const heredocInstructions = ["RUN", "COPY", "ADD"];

export function splitInstructions(text: string): SplitFile {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const { escapeCharacter, next } = readDirectives(lines);
  const instructions: RawInstruction[] = [];
  for (let at = next; at < lines.length; ) {
    const start = lines[at]?.trim() ?? "";
    if (start === "" || start.startsWith("#")) {
      at += 1;
      continue;
    }
    const line = at + 1;
    const joined = joinLines(lines, at, escapeCharacter);
    const [, name = "", rest = ""] = /^(\S+)\s*([\s\S]*)$/.exec(joined.text) ?? [];
    const upper = name.toUpperCase();
    const found = heredocInstructions.includes(upper)
      ? readHeredocs(lines, joined.next, { rest, line, escapeCharacter })
      : [];
    at = found.at(-1)?.next ?? joined.next;
    instructions.push({
      ...{ line, lastLine: joined.next, name: upper, text: rest },
      heredocs: found.map(({ heredoc }) => heredoc),
      script: [rest, ...found.map(({ raw }) => raw)].join("\n"),
    });
    if (instructions.length > MAX_INSTRUCTIONS)
      throw new InstructionError(line, `The file has more than ${MAX_INSTRUCTIONS} instructions.`);
  }
  return { escapeCharacter, instructions };
}

export const directive = /^\s*#\s*([A-Za-z]+)\s*=\s*(\S+)\s*$/;

/** Comments such as `# escape=` count only before everything else. */
function readDirectives(lines: string[]): { escapeCharacter: string; next: number } {
  let escapeCharacter = "\\";
  let next = 0;
  for (; next < lines.length; next++) {
    const [, name, value] = directive.exec(lines[next] ?? "") ?? [];
    if (name === undefined) break;
    if (name.toLowerCase() !== "escape") continue;
    if (value !== "\\" && value !== "`")
      throw new InstructionError(next + 1, "The escape character must be \\ or `.");
    escapeCharacter = value;
  }
  return { escapeCharacter, next };
}

function joinLines(lines: string[], first: number, escapeCharacter: string): { text: string; next: number } {
  const parts: string[] = [];
  let next = first;
  for (; next < lines.length; next++) {
    const line = lines[next] ?? "";
    const trimmed = line.trim();
    // Docker leaves out comments and empty lines between continued lines.
    if (parts.length > 0 && (trimmed === "" || trimmed.startsWith("#"))) continue;
    const end = line.trimEnd();
    const isContinued = end.endsWith(escapeCharacter) && !end.slice(0, -1).endsWith(escapeCharacter);
    parts.push(isContinued ? end.slice(0, -1) : line);
    if (!isContinued) {
      next += 1;
      break;
    }
  }
  return { text: parts.join("").trim(), next };
}

interface FoundHeredoc {
  heredoc: Heredoc;
  raw: string;
  next: number;
}

function readHeredocs(
  lines: string[],
  first: number,
  { rest, line, escapeCharacter }: { rest: string; line: number; escapeCharacter: string },
): FoundHeredoc[] {
  if (rest.startsWith("[") || !rest.includes("<<")) return [];
  const marks = splitWords(rest, escapeCharacter).flatMap((word) => {
    const mark = heredocMark.exec(word);
    return mark ? [mark] : [];
  });
  if (marks.length > MAX_HEREDOCS)
    throw new InstructionError(line, `The instruction has more than ${MAX_HEREDOCS} heredocs.`);
  let next = first;
  return marks.map(([, dash, double, single, plain]) => {
    const name = double ?? single ?? plain ?? "";
    const body: string[] = [];
    const raw: string[] = [];
    for (; ; next++) {
      const original = lines[next];
      if (original === undefined)
        throw new InstructionError(
          line,
          `The heredoc has no end: add a line with only ${name.slice(0, 100)}.`,
        );
      raw.push(original);
      const text = dash ? original.replace(/^\t+/, "") : original;
      if (text === name) break;
      body.push(text);
    }
    next += 1;
    const content = body.map((text) => `${text}\n`).join("");
    return { heredoc: { name, content, expands: plain !== undefined }, raw: raw.join("\n"), next };
  });
}
