import type { FileChange } from "@outrider/agent/workspace";
import type { Redactor } from "../redact.ts";

const PATCH_CHARACTERS = 64 * 1024;
const STEP_CHARACTERS = 512 * 1024;
/** Of what git says this much is read: enough for a step's worth of patches that are all cut. */
export const GIT_SAYS = 2 * 1024 * 1024;

/** A list of changes that grows no further than one step's events may. */
export class Patches {
  readonly changes: FileChange[] = [];
  private readonly redactor: Redactor;
  private left = STEP_CHARACTERS;

  constructor(redactor: Redactor) {
    this.redactor = redactor;
  }

  /** Redacted before it is cut, since half a secret is not found any more. Answers whether there was room for it. */
  add({ path, kind, patch }: FileChange): boolean {
    const clean = this.redactor.text(textOf(patch));
    const cut = clean.length <= PATCH_CHARACTERS ? clean : `${clean.slice(0, PATCH_CHARACTERS)}\n[cut]\n`;
    if (cut.length > this.left) return false;
    this.left -= cut.length;
    this.changes.push({ path: textOf(path), kind, patch: cut });
    return true;
  }
}

/** The changes in what `git diff` printed, in bytes as characters. What it printed may have been broken off. */
export function* changesIn(printed: string): Generator<FileChange> {
  const isWhole = printed.length <= GIT_SAYS;
  // No line of a file's content begins with these words: a sign or a blank stands before it.
  const sections = printed.split(/(?<=\n)(?=diff --git )/).filter((section) => section !== "");
  for (const [index, section] of sections.entries()) {
    const isBroken = !isWhole && index === sections.length - 1;
    yield changeIn(isBroken ? section.slice(0, section.lastIndexOf("\n") + 1) : section);
  }
}

function changeIn(section: string): FileChange {
  const [first = "", ...lines] = section.split("\n");
  const hunks = lines.findIndex((line) => /^(--- |Binary )/.test(line));
  const head = hunks < 0 ? lines : lines.slice(0, hunks);
  const isCreated = head.some((line) => line.startsWith("new file"));
  const isDeleted = head.some((line) => line.startsWith("deleted file"));
  const path = pathIn(first);
  const kind = isCreated ? "created" : isDeleted ? "deleted" : "modified";
  // What most files are is not worth a line, unlike a link or a program.
  const modes = head.filter((line) => / mode /.test(line) && !/ file mode 100644$/.test(line));
  const names = `--- ${isCreated ? "/dev/null" : `a/${path}`}\n+++ ${isDeleted ? "/dev/null" : `b/${path}`}\n`;
  const body = hunks < 0 ? names : lines.slice(hunks).join("\n");
  return { path, kind, patch: [...modes, body].join("\n") };
}

/** Both names in the line are the same but for their first letter, quoted alike. */
function pathIn(line: string): string {
  const names = line.slice("diff --git ".length);
  const name = names.slice(0, (names.length - 1) / 2);
  return name.startsWith('"') ? unquoted(name.slice(3, -1)) : name.slice(2);
}

const escapes: Record<string, string> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

function unquoted(name: string): string {
  return name.replace(/\\(?:([0-7]{3})|(.))/g, (_, octal: string | undefined, letter: string) =>
    octal ? String.fromCharCode(Number.parseInt(octal, 8)) : (escapes[letter] ?? letter),
  );
}

function textOf(bytes: string): string {
  return Buffer.from(bytes, "latin1").toString();
}
