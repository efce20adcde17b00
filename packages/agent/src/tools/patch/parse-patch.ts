/**
 * Parses the patch format that some models are trained on:
 *
 *     *** Begin Patch
 *     *** Update File: path
 *     *** Move to: new path
 *     @@ the line of the enclosing class or function
 *      context
 *     -removed
 *     +added
 *     *** Add File: path
 *     +line
 *     *** Delete File: path
 *     *** End Patch
 */

const MAX_FILES = 100;
const MAX_HUNKS = 1_000;

export interface HunkLine {
  type: "context" | "removed" | "added";
  text: string;
}

export interface Hunk {
  /** Lines that precede the hunk in the file, from the outermost to the innermost. */
  headers: string[];
  lines: HunkLine[];
  /** Whether the hunk's last line is the file's last line. */
  isAtEnd: boolean;
}

export type FilePatch =
  | { type: "add"; path: string; text: string }
  | { type: "delete"; path: string }
  | { type: "update"; path: string; newPath?: string; hunks: Hunk[] };

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const fileHeader = /^\*\*\* (Add|Delete|Update) File: (.*)$/;
const moveHeader = /^\*\*\* Move to: (.*)$/;

/** Throws an error with one sentence for the model if the patch cannot be parsed. */
export function parsePatch(patch: string): FilePatch[] {
  const lines = patchLines(patch);
  const files: FilePatch[] = [];
  let hunks = 0;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const [, kind, name = ""] = fileHeader.exec(line.trim()) ?? [];
    if (!kind && line.trim() === "") {
      at += 1;
      continue;
    }
    if (!kind) throw new Error(`${quoteLine(line)} must be a line such as "*** Update File: path".`);
    const path = parsePath(name);
    const end = findEnd(lines, at + 1);
    const file = parseFile(kind, path, lines.slice(at + 1, end));
    files.push(file);
    hunks += file.type === "update" ? file.hunks.length : 0;
    if (files.length > MAX_FILES || hunks > MAX_HUNKS)
      throw new Error(
        `The patch has more than ${MAX_FILES} files or ${MAX_HUNKS} hunks: split it into several calls.`,
      );
    at = end;
  }
  if (files.length === 0) throw new Error('The patch is empty: add a line such as "*** Update File: path".');
  return files;
}

/** Returns the lines between the two markers. Some models add the shell command that would apply the patch. */
function patchLines(patch: string): string[] {
  const lines = patch.split("\n").map((line) => line.replace(/\r$/, ""));
  const begin = lines.findIndex((line) => line.trim() === BEGIN);
  const end = lines.findLastIndex((line) => line.trim() === END);
  if (begin === -1) throw new Error(`The patch must start with the line "${BEGIN}".`);
  if (end < begin) throw new Error(`The patch must end with the line "${END}".`);
  return lines.slice(begin + 1, end);
}

function findEnd(lines: readonly string[], from: number): number {
  const next = lines.findIndex((line, index) => index >= from && fileHeader.test(line));
  return next === -1 ? lines.length : next;
}

function parsePath(text: string): string {
  const path = text.trim();
  if (path === "" || path.length > 4096 || path.includes("\0"))
    throw new Error("Each file of the patch must have a path of at most 4096 characters.");
  return path;
}

function parseFile(kind: string, path: string, lines: string[]): FilePatch {
  if (kind === "Add") return { type: "add", path, text: parseAddedText(path, lines) };
  if (kind === "Delete") {
    if (lines.some((line) => line.trim() !== ""))
      throw new Error(`"*** Delete File: ${path}" must not be followed by lines.`);
    return { type: "delete", path };
  }
  const [, target] = moveHeader.exec(lines[0]?.trim() ?? "") ?? [];
  const hunks = parseHunks(path, target === undefined ? lines : lines.slice(1));
  if (hunks.length === 0 && target === undefined)
    throw new Error(`"*** Update File: ${path}" must be followed by changed lines.`);
  return { type: "update", path, hunks, ...(target === undefined ? {} : { newPath: parsePath(target) }) };
}

function parseAddedText(path: string, lines: string[]): string {
  const content = lines.at(-1)?.trim() === "" ? lines.slice(0, -1) : lines;
  const wrong = content.find((line) => !line.startsWith("+"));
  if (wrong !== undefined)
    throw new Error(
      `Each line of the new file ${path} must start with "+", but there is ${quoteLine(wrong)}.`,
    );
  return content.map((line) => `${line.slice(1)}\n`).join("");
}

const types: Record<string, HunkLine["type"]> = { " ": "context", "-": "removed", "+": "added" };

function parseHunks(path: string, lines: string[]): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | undefined;
  const begin = (headers: string[]) => {
    hunk = { headers, lines: [], isAtEnd: false };
    hunks.push(hunk);
    return hunk;
  };
  for (const line of lines) {
    if (/^@@/.test(line)) {
      const header = parseHeader(line);
      // Several headers in a row narrow down the position.
      if (hunk && hunk.lines.length === 0) hunk.headers.push(...header);
      else begin(header);
    } else if (line.trim() === END_OF_FILE) {
      if (hunk) hunk.isAtEnd = true;
    } else {
      const type = line === "" ? "context" : types[line[0] as string];
      if (!type)
        throw new Error(
          `Each changed line of ${path} must start with "+", "-" or a space, but there is ${quoteLine(line)}.`,
        );
      (hunk && !hunk.isAtEnd ? hunk : begin([])).lines.push({ type, text: line.slice(1) });
    }
  }
  for (const { lines, isAtEnd } of hunks) if (!isAtEnd) removeBlankEnd(lines);
  return hunks.filter(({ lines }) => lines.some(({ type }) => type !== "context"));
}

/** An empty line before the next header separates hunks and is not part of the file. */
function removeBlankEnd(lines: HunkLine[]) {
  while (lines.at(-1)?.type === "context" && lines.at(-1)?.text === "") lines.pop();
}

/** Returns the header without the line numbers of a unified diff, which are often wrong. */
function parseHeader(line: string): string[] {
  const header = line.replace(/^@@\s?(-\d+(,\d+)? \+\d+(,\d+)?\s?@@)?/, "").replace(/@@\s*$/, "");
  return header.trim() === "" ? [] : [header];
}

function quoteLine(line: string): string {
  return JSON.stringify(line.length > 100 ? `${line.slice(0, 100)}…` : line);
}
