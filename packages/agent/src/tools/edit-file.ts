import { z } from "zod";
import { applyEdits } from "./apply-edits.ts";
import { expandHome } from "./expand-home.ts";
import { defineTool, loadDescription, path } from "./tool.ts";

const MAX_BYTES = 8 * 1024 * 1024;

export const editFile = defineTool({
  name: "edit_file",
  description: loadDescription("edit_file"),
  input: z.object({
    path: path("Relative to the folder in which commands start, absolute, or starting with ~."),
    edits: z
      .array(
        z.object({
          old_text: z.string().min(1),
          new_text: z.string(),
          replace_all: z.boolean().optional(),
        }),
      )
      .min(1)
      .max(200),
  }),
  editedPaths: ({ path }) => [path],
  async run({ path, edits }, { workspace, emit }) {
    const before = await workspace.readBytes(expandHome(path, workspace), MAX_BYTES + 1);
    if (before.length > MAX_BYTES) {
      throw new Error(`${path} is larger than ${MAX_BYTES} bytes. Change it with a command.`);
    }
    const result = applyEdits(before, { edits, redact: (text) => workspace.redact(text) });
    if ("problem" in result) {
      return { output: `${path} was not changed. ${result.problem}`, is_error: true };
    }
    const { patch } = await workspace.writeBytes(expandHome(path, workspace), result.data, { before });
    await emit({ type: "file.changed", data: { path, patch, kind: "modified" } });
    const count = result.count === 1 ? "1 replacement" : `${result.count} replacements`;
    const summary = `Changed ${path}: ${count}, the first at line ${result.firstLine}.`;
    return { output: [summary, ...result.deviations].join(" ") };
  },
});
