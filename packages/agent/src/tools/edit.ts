import { z } from "zod";
import { replaceAll } from "./replace.ts";
import { defineTool, described, located, path } from "./tool.ts";

const MAX_BYTES = 8 * 1024 * 1024;

export const editFile = defineTool({
  name: "edit_file",
  description: described("edit_file"),
  input: z.object({
    path: path("Relative to the workspace, or absolute, or from ~."),
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
  async run({ path, edits }, { workspace, emit }) {
    const before = await workspace.readBytes(located(path, workspace), MAX_BYTES + 1);
    if (before.length > MAX_BYTES) {
      throw new Error(`${path} is larger than ${MAX_BYTES} bytes: change it with a command.`);
    }
    const result = replaceAll(before, { edits, redacted: (text) => workspace.redacted(text) });
    if ("problem" in result) {
      return {
        output: workspace.redacted(`Nothing was changed in ${path}. ${result.problem}`),
        is_error: true,
      };
    }
    const { patch } = await workspace.writeBytes(located(path, workspace), result.data, { before });
    await emit({ type: "file.changed", data: { path, patch, kind: "modified" } });
    const places = result.count === 1 ? "1 place" : `${result.count} places`;
    return { output: `Changed ${path} in ${places}, from line ${result.firstLine} on.` };
  },
});
