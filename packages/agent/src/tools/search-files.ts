import { z } from "zod";
import type { Workspace } from "../workspace.ts";
import { expandHome } from "./expand-home.ts";
import { escapeRegExp, globToRegExp } from "./glob.ts";
import { displayPath, listFilesScript, normalizePath } from "./list-files-script.ts";
import { defineTool, line, loadDescription, path } from "./tool.ts";

const DEFAULT_MAX = 100;
const MAX_MATCHES = 1000;
const MAX_LINE_CHARACTERS = 500;
/** The limit for a line before it is redacted, so that one huge line does not displace the others. */
const MAX_LINE_BYTES = 8 * 1024;
const MAX_READ_BYTES = 2 * 1024 * 1024;
const MAX_OUTPUT_CHARACTERS = 60_000;

/**
 * Prints `path NUL number:text` for each match. Threads make the order of the files random, so the result is sorted here
 * later, unless `--sort path` is given. With a glob, the files are listed first: ripgrep's own globs would override the
 * rules of .gitignore. Patterns that ripgrep's engine does not support, such as look-around, are handed to PCRE2.
 */
const script = `${listFilesScript}
folder=$1 pattern=$2 glob=$3 max=$4 context=$5 rg=$6
shift 6
[ -e "$folder" ] || exit 44
set -- --line-number --with-filename --null --no-heading --color never --no-context-separator --engine auto \\
  --max-columns ${MAX_LINE_BYTES} --max-columns-preview --max-count "$max" --context "$context" "$@" --regexp "$pattern"
if [ -d "$folder" ] && [ "$glob" ]; then
  list "$folder" | grep -zxE -e "$glob" | xargs -0 -r "$rg" --no-config --no-messages "$@" --
else
  ripgrep "$@" -- "$folder"
fi
exit 0
`;

const Input = z.object({
  pattern: line("A regular expression."),
  path: path("The folder or file to search. Default: the folder in which commands start.").optional(),
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
    const args = [folder, pattern, expression, String(max + 1), String(context), workspace.ripgrep];
    const search = (...more: string[]) =>
      workspace.probe(script, { args: [...args, ...more], limit: MAX_READ_BYTES, signal });
    let result = await search();
    // Which part of a long result arrives first is random. The second search finds the first files by name.
    if (result.is_truncated) result = await search("--sort", "path");
    if (result.exit_code === 44) throw new Error(`${path} does not exist.`);
    if (result.exit_code !== 0 && !result.is_truncated) throw new Error("The search timed out. Narrow it.");
    const lines = sortByPath(redactTexts(parseLines(result.output.toString()), workspace));
    if (lines.length === 0 && result.stderr.trim() !== "")
      throw new Error(`Invalid pattern: ${describePatternError(result.stderr)}.`);
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
  for (const [, path = "", number, mark, text = ""] of output.matchAll(/([^\0]+)\0(\d+)([:-])([^\n]*)\n/g)) {
    const shown = text.replace(/\r$/, "");
    lines.push({ path: displayPath(path), number: Number(number), isMatch: mark === ":", text: shown });
  }
  return lines;
}

/** Sorts by path. The lines of one file keep their order. */
function sortByPath(lines: Line[]): Line[] {
  return lines.sort((a, b) => (a.path === b.path ? 0 : a.path < b.path ? -1 : 1));
}

/** Returns the reason from the errors of ripgrep's two engines, which quote the pattern on several lines. */
function describePatternError(stderr: string): string {
  const reason =
    /at offset \d+: (.+)/.exec(stderr) ?? /^error: (.+)/m.exec(stderr) ?? /^(?:rg: )?(.+)/.exec(stderr);
  return reason?.[1]?.trim() ?? "it cannot be compiled";
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
