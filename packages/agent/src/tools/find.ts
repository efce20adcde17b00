import { z } from "zod";
import { escaped, globExpression } from "./glob.ts";
import { listing, plainPath, shownPath } from "./listing.ts";
import { defineTool, described, line, located, path } from "./tool.ts";

const MOST = 500;
const OUTPUT_BYTES = 1024 * 1024;

const script = `${listing}
[[ -e $1 ]] || exit 44
[[ -d $1 ]] || exit 45
list "$1" | grep -zxE -e "$2" | sort -z | head -z -n "$3"
codes=("\${PIPESTATUS[@]}")
((codes[1] < 2))
`;

export const findFiles = defineTool({
  name: "find_files",
  description: described("find_files"),
  input: z.object({
    pattern: line("A glob, which fits the path below the folder."),
    path: path("The folder to look in, relative to the workspace. Default: all of it.").optional(),
  }),
  async run({ pattern, path = "." }, { workspace, signal }) {
    const folder = plainPath(located(path, workspace));
    const expression = `${escaped(`${folder === "/" ? "" : folder}/`)}${globExpression(pattern)}`;
    const args = [folder, expression, String(MOST + 1)];
    const looked = await workspace.look(script, { args, limit: OUTPUT_BYTES, signal });
    refuse(looked.exit_code, path, looked.complaint);
    // Behind the last NUL stands nothing, or where the output is cut half a name.
    const names = looked.output.toString().split("\0").slice(0, -1).map(shownPath);
    if (names.length === 0) return { output: `No file in ${path} fits ${pattern}.` };
    const isMore = looked.is_cut || names.length > MOST;
    const more = isMore ? `\n[there are more: narrow the pattern or the path]` : "";
    return { output: workspace.redacted(names.slice(0, MOST).join("\n")) + more };
  },
});

function refuse(exit_code: number | null, path: string, complaint: string) {
  if (exit_code === 0) return;
  if (exit_code === 44) throw new Error(`${path} does not exist.`);
  if (exit_code === 45) throw new Error(`${path} is not a folder.`);
  throw new Error(complaint.trim() || "The search was stopped before its end.");
}
