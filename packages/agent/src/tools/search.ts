import { z } from "zod";
import { escaped, globExpression } from "./glob.ts";
import { listing, plainPath, shownPath } from "./listing.ts";
import { defineTool, described, line, located, path } from "./tool.ts";

const DEFAULT_MAX = 100;
const MOST = 1000;
const LINE_CHARACTERS = 500;
/** Of a line with the path before it, so that one of megabytes leaves room for others. */
const LINE_BYTES = 8 * 1024;
const READ_BYTES = 2 * 1024 * 1024;
const OUTPUT_CHARACTERS = 60_000;

// Where grep has no Perl expressions, extended ones come nearest.
const script = `${listing}
[[ -e $1 ]] || exit 44
dialect=-P
grep -qP -e a <<< a 2> /dev/null || dialect=-E
grep $dialect -e "$2" < /dev/null
(($? < 2)) || exit 46
if [[ -d $1 ]]; then list "$1" | { if [[ $3 ]]; then grep -zxE -e "$3"; else cat; fi; } | sort -z
else printf "%s\\0" "$1"
fi | xargs -0 -r grep -nHIZs --no-group-separator -m "$4" -C "$5" $dialect -e "$2" -- | cut -b "-${LINE_BYTES}"
exit 0
`;

const Input = z.object({
  pattern: line("A regular expression."),
  path: path("The folder or file to search, relative to the workspace. Default: all of it.").optional(),
  glob: line("Only files whose path below the folder fits.").optional(),
  context: z
    .int()
    .min(0)
    .max(20)
    .optional()
    .meta({ description: "Lines to show before and after. Default 0." }),
  max: z
    .int()
    .min(1)
    .max(MOST)
    .optional()
    .meta({ description: `The most lines to find. Default ${DEFAULT_MAX}.` }),
});

export const searchFiles = defineTool({
  name: "search_files",
  description: described("search_files"),
  input: Input,
  async run({ pattern, path = ".", glob, context = 0, max = DEFAULT_MAX }, { workspace, signal }) {
    const folder = plainPath(located(path, workspace));
    const inside = escaped(`${folder === "/" ? "" : folder}/`);
    const expression = glob === undefined ? "" : inside + globExpression(glob);
    const args = [folder, pattern, expression, String(max + 1), String(context)];
    const looked = await workspace.look(script, { args, limit: READ_BYTES, signal });
    const complaint = looked.complaint.replace(/^grep: /, "").trim();
    if (looked.exit_code === 44) throw new Error(`${path} does not exist.`);
    if (looked.exit_code === 46) throw new Error(`The pattern cannot be read: ${complaint}`);
    if (looked.exit_code !== 0 && !looked.is_cut) {
      throw new Error(complaint || "The search took too long: narrow it.");
    }
    const lines = readLines(looked.output.toString());
    if (lines.length === 0 && complaint !== "") throw new Error(complaint);
    if (lines.length === 0) return { output: `Nothing in ${path} fits ${pattern}.` };
    const { text, found, isCut } = show(lines, max);
    const more = isCut || looked.is_cut ? `\n[${found} lines shown, there are more: narrow the search]` : "";
    return { output: workspace.redacted(text) + more };
  },
});

interface Line {
  path: string;
  number: number;
  isMatch: boolean;
  text: string;
}

/** `path NUL number:text`, with a hyphen behind the number of lines that only stand around. */
function readLines(output: string): Line[] {
  const lines: Line[] = [];
  for (const [, path = "", number, mark, text = ""] of output.matchAll(/([^\0]+)\0(\d+)([:-])(.*)\n/g)) {
    lines.push({ path: shownPath(path), number: Number(number), isMatch: mark === ":", text });
  }
  return lines;
}

/** Lines below the path of their file, with a gap where lines are left out. */
function show(lines: Line[], max: number): { text: string; found: number; isCut: boolean } {
  let text = "";
  let found = 0;
  let last: Line | undefined;
  for (const one of lines) {
    if ((one.isMatch && found === max) || text.length > OUTPUT_CHARACTERS)
      return { text, found, isCut: true };
    if (last?.path !== one.path) text += `${last ? "\n\n" : ""}${one.path}`;
    else if (one.number > last.number + 1 && lines.some(({ isMatch }) => !isMatch)) text += "\n…";
    const line = one.text.length > LINE_CHARACTERS ? `${one.text.slice(0, LINE_CHARACTERS)} […]` : one.text;
    text += `\n${one.number}${one.isMatch ? ":" : "-"} ${line}`;
    found += one.isMatch ? 1 : 0;
    last = one;
  }
  return { text, found, isCut: false };
}
