import type { FileChange } from "@outrider/agent/workspace";
import type { Redactor } from "../../redaction/redact.ts";
import { shortenPatch } from "../file-patch.ts";

const MAX_TOTAL_CHARACTERS = 512 * 1024;
/**
 * Limits how much of git's output is read. It is enough for one command's patches even if all of them are truncated.
 */
export const MAX_DIFF_BYTES = 2 * 1024 * 1024;

/** One command's changes, limited in total size. */
export class PatchList {
  readonly changes: FileChange[] = [];
  readonly #redactor: Redactor;
  #charactersLeft = MAX_TOTAL_CHARACTERS;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Adds a change. Returns false if it does not fit. */
  add({ path, kind, patch }: FileChange): boolean {
    const shortened = shortenPatch(decode(patch), this.#redactor);
    if (shortened.length > this.#charactersLeft) return false;
    this.#charactersLeft -= shortened.length;
    this.changes.push({ path: decode(path), kind, patch: shortened });
    return true;
  }
}

/** Parses the output of `git diff`, a latin1 string with one character per byte. The output may be truncated. */
export function* parseDiff(output: string): Generator<FileChange> {
  const isComplete = output.length <= MAX_DIFF_BYTES;
  // No line of file content starts with these words, because content lines start with a sign or a space.
  const sections = output.split(/(?<=\n)(?=diff --git )/).filter((section) => section !== "");
  for (const [index, section] of sections.entries()) {
    const isTruncated = !isComplete && index === sections.length - 1;
    yield parseSection(isTruncated ? section.slice(0, section.lastIndexOf("\n") + 1) : section);
  }
}

function parseSection(section: string): FileChange {
  const [first = "", ...lines] = section.split("\n");
  const hunks = lines.findIndex((line) => /^(--- |Binary )/.test(line));
  const head = hunks < 0 ? lines : lines.slice(0, hunks);
  const isCreated = head.some((line) => line.startsWith("new file"));
  const isDeleted = head.some((line) => line.startsWith("deleted file"));
  const path = parsePath(first);
  const kind = isCreated ? "created" : isDeleted ? "deleted" : "modified";
  // The mode of a regular file is omitted. Modes of links and executables are shown.
  const modes = head.filter((line) => / mode /.test(line) && !/ file mode 100644$/.test(line));
  const names = `--- ${isCreated ? "/dev/null" : `a/${path}`}\n+++ ${isDeleted ? "/dev/null" : `b/${path}`}\n`;
  const body = hunks < 0 ? names : lines.slice(hunks).join("\n");
  return { path, kind, patch: [...modes, body].join("\n") };
}

/** Parses the path from a `diff --git` line. Its two names differ only in their first letter and are quoted alike. */
function parsePath(line: string): string {
  const names = line.slice("diff --git ".length);
  const name = names.slice(0, (names.length - 1) / 2);
  return name.startsWith('"') ? unquote(name.slice(3, -1)) : name.slice(2);
}

const escapes: Record<string, string> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

function unquote(name: string): string {
  return name.replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, letter: string) =>
    octal ? String.fromCharCode(Number.parseInt(octal, 8)) : (escapes[letter] ?? letter),
  );
}

function decode(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}
