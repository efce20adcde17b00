import { z } from "zod";
import { defineTool } from "./tool.ts";

export const WRITE_FILE = "write_file";

const description = `Writes a text file in the workspace, with all of its content.
Folders that are missing are made; a file that is there is replaced.`;

export const writeFile = defineTool({
  name: WRITE_FILE,
  description,
  input: z.object({
    path: z.string().min(1).meta({ description: "Relative to the workspace." }),
    text: z.string(),
  }),
  async run({ path, text }, { workspace, emit }) {
    const { created, patch } = await workspace.write(path, text);
    await emit({ type: "file.changed", data: { path, patch, kind: created ? "created" : "modified" } });
    return { output: `${created ? "Created" : "Replaced"} ${path}, ${Buffer.byteLength(text)} bytes.` };
  },
});
