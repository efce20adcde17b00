import { z } from "zod";
import { expandHome } from "./expand-home.ts";
import { escapeRegExp, globToRegExp } from "./glob.ts";
import { displayPath, listFilesScript, normalizePath } from "./list-files-script.ts";
import { defineTool, line, loadDescription, path } from "./tool.ts";

const MAX_FILES = 500;
const OUTPUT_BYTES = 1024 * 1024;

const script = `${listFilesScript}
rg=$3
[ -e "$1" ] || exit 44
[ -d "$1" ] || exit 45
grep -qE -e "$2" < /dev/null
[ $? -lt 2 ] || exit 2
list "$1" | grep -zxE -e "$2" | sort -z
`;

export const findFiles = defineTool({
  name: "find_files",
  description: loadDescription("find_files"),
  isReadOnly: true,
  input: z.object({
    pattern: line("A glob that matches the path below the folder."),
    path: path("The folder to search. Default: the folder in which commands start.").optional(),
  }),
  async run({ pattern, path = "." }, { workspace, signal }) {
    const folder = normalizePath(expandHome(path, workspace));
    const expression = `${escapeRegExp(`${folder === "/" ? "" : folder}/`)}${globToRegExp(pattern)}`;
    const args = [folder, expression, workspace.ripgrep];
    const result = await workspace.probe(script, { args, limit: OUTPUT_BYTES, signal });
    if (!result.is_truncated) checkExitCode(result.exit_code, path, result.stderr);
    // The text after the last NUL is empty or, if the output was truncated, an incomplete name.
    const names = result.output.toString().split("\0").slice(0, -1).map(displayPath);
    if (names.length === 0) return { output: `No file in ${path} matches ${pattern}.` };
    const hasMore = result.is_truncated || names.length > MAX_FILES;
    const more = hasMore ? `\n[more files match: narrow the pattern or the path]` : "";
    return { output: names.slice(0, MAX_FILES).join("\n") + more };
  },
});

function checkExitCode(exit_code: number | null, path: string, stderr: string) {
  if (exit_code === 0) return;
  if (exit_code === 44) throw new Error(`${path} does not exist.`);
  if (exit_code === 45) throw new Error(`${path} is not a folder.`);
  throw new Error(stderr.trim() || "The search was stopped before it finished.");
}
