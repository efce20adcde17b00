import { z } from "zod";
import { ends } from "../output.ts";
import { defineTool } from "./tool.ts";

const description = `Reads a text file of the workspace.
Of a long file you get the beginning and the end; use a command to read the part between.`;

export const readFile = defineTool({
  name: "read_file",
  description,
  input: z.object({ path: z.string().min(1).meta({ description: "Relative to the workspace." }) }),
  async run({ path }, { workspace }) {
    return { output: ends(await workspace.read(path)) };
  },
});
