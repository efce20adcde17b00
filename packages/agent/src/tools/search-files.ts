import { z } from "zod";
import type { Workspace } from "../workspace.ts";
import { escapeRegExp, globToRegExp } from "./glob.ts";
import { displayPath, listFilesScript, normalizePath } from "./list-files-script.ts";
import { defineTool, expandHome, line, loadDescription, path } from "./tool.ts";

const DEFAULT_MAX = 100;
const MAX_MATCHES = 1000;
const MAX_LINE_CHARACTERS = 500;
/** The limit for a line including its path, so that one huge line does not displace the others. */
const MAX_LINE_BYTES = 8 * 1024;
const MAX_READ_BYTES = 2 * 1024 * 1024;
const MAX_OUTPUT_CHARACTERS = 60_000;

// If grep does not support Perl expressions, extended ones are the closest substitute.
const script = `${listFilesScript}
[[ -e $1 ]] || exit 44
dialect=-P
grep -qP -e a <<< a 2> /dev/null || dialect=-E
grep $dialect -e "$2" < /dev/null
(($? < 2)) || exit 46
if [[ -d $1 ]]; then list "$1" | { if [[ $3 ]]; then grep -zxE -e "$3"; else cat; fi; } | sort -z
else printf "%s\\0" "$1"
fi | xargs -0 -r grep -nHIZs --no-group-separator -m "$4" -C "$5" $dialect -e "$2" -- | cut -b "-${MAX_LINE_BYTES}"
exit 0
`;

const Input = z.object({
  pattern: line("A regular expression."),
  path: path(
    "The folder or file to search, relative to the workspace. Default: the whole workspace.",
  ).optional(),
  glob: line("Search only files whose path below the folder matches.").optional(),
  context: z
    .int()
    .min(0)
    .max(20)
    .optional()
    .meta({ description: "The number of lines to show before and after each match. Default 0." }),
  max: z
    .int()
    .min(1)
    .max(MAX_MATCHES)
    .optional()
    .meta({ description: `The maximum number of matches. Default ${DEFAULT_MAX}.` }),
});

export const searchFiles = defineTool({
  name: "search_files",
  description: loadDescription("search_files"),
  isReadOnly: true,
  input: Input,
  async run({ pattern, path = ".", glob, context = 0, max = DEFAULT_MAX }, { workspace, signal }) {
    const folder = normalizePath(expandHome(path, workspace));
    const inside = escapeRegExp(`${folder === "/" ? "" : folder}/`);
    const expression = glob === undefined ? "" : inside + globToRegExp(glob);
    const args = [folder, pattern, expression, String(max + 1), String(context)];
    const result = await workspace.probe(script, { args, limit: MAX_READ_BYTES, signal });
    const error = result.stderr.replace(/^grep: /, "").trim();
    if (result.exit_code === 44) throw new Error(`${path} does not exist.`);
    if (result.exit_code === 46) throw new Error(`Invalid pattern: ${error}`);
    if (result.exit_code !== 0 && !result.is_truncated) {
      throw new Error(error || "The search timed out. Narrow it.");
    }
    const lines = redactTexts(parseLines(result.output.toString()), workspace);
    if (lines.length === 0 && error !== "") throw new Error(error);
    if (lines.length === 0) return { output: `No match for ${pattern} in ${path}.` };
    const { text, found, isTruncated } = formatLines(lines, max);
    const more =
      isTruncated || result.is_truncated
        ? `\n[${found} matches shown, there are more: narrow the search]`
        : "";
    return { output: text + more };
  },
});

interface Line {
  path: string;
  number: number;
  isMatch: boolean;
  text: string;
}

/** Parses `path NUL number:text`; context lines have a hyphen in place of the colon. */
function parseLines(output: string): Line[] {
  const lines: Line[] = [];
  for (const [, path = "", number, mark, text = ""] of output.matchAll(/([^\0]+)\0(\d+)([:-])(.*)\n/g)) {
    lines.push({ path: displayPath(path), number: Number(number), isMatch: mark === ":", text });
  }
  return lines;
}

/** Redacts the lines before they are shortened and numbered. */
function redactTexts(lines: Line[], workspace: Workspace): Line[] {
  const texts = workspace.redact(lines.map(({ text }) => text).join("\n")).split("\n");
  return lines.map((line, index) => ({ ...line, text: texts[index] ?? "" }));
}

/** Formats lines below their file's path, with an ellipsis between distant lines. */
function formatLines(lines: Line[], max: number): { text: string; found: number; isTruncated: boolean } {
  let text = "";
  let found = 0;
  let previous: Line | undefined;
  for (const current of lines) {
    if ((current.isMatch && found === max) || text.length > MAX_OUTPUT_CHARACTERS)
      return { text, found, isTruncated: true };
    if (previous?.path !== current.path) text += `${previous ? "\n\n" : ""}${current.path}`;
    else if (current.number > previous.number + 1 && lines.some(({ isMatch }) => !isMatch)) text += "\n…";
    const line =
      current.text.length > MAX_LINE_CHARACTERS
        ? `${current.text.slice(0, MAX_LINE_CHARACTERS)} […]`
        : current.text;
    text += `\n${current.number}${current.isMatch ? ":" : "-"} ${line}`;
    found += current.isMatch ? 1 : 0;
    previous = current;
  }
  return { text, found, isTruncated: false };
}
