import { z } from "zod";
import { defineTool, expandHome, loadDescription, path } from "./tool.ts";

export const WRITE_FILE = "write_file";

export const writeFile = defineTool({
  name: WRITE_FILE,
  description: loadDescription(WRITE_FILE),
  input: z.object({
    path: path("Relative to the folder in which commands start, absolute, or starting with ~."),
    text: z.string(),
  }),
  async run({ path, text }, { workspace, emit }) {
    const data = Buffer.from(text);
    const { created, patch } = await workspace.writeBytes(expandHome(path, workspace), data);
    await emit({ type: "file.changed", data: { path, patch, kind: created ? "created" : "modified" } });
    return { output: `${created ? "Created" : "Replaced"} ${path}, ${data.length} bytes.` };
  },
});
