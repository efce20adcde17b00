import { z } from "zod";
import { Failure } from "../failure.ts";
import type { Workspace } from "../workspace.ts";
import { expandHome } from "./expand-home.ts";
import { defineTool, loadDescription, path } from "./tool.ts";

export const WRITE_FILE = "write_file";

export const writeFile = defineTool({
  name: WRITE_FILE,
  description: loadDescription(WRITE_FILE),
  input: z.object({
    path: path("Relative to the folder in which commands start, absolute, or starting with ~."),
    text: z.string(),
  }),
  editedPaths: ({ path }) => [path],
  async run({ path, text }, { workspace, knownFiles, emit }) {
    const data = Buffer.from(text);
    const staleness = knownFiles?.staleness(path);
    if (staleness !== undefined && (await hasContent(path, workspace))) throw new Error(staleness);
    const { created, patch } = await workspace.writeBytes(expandHome(path, workspace), data);
    await emit({ type: "file.changed", data: { path, patch, kind: created ? "created" : "modified" } });
    return { output: `${created ? "Created" : "Replaced"} ${path}, ${data.length} bytes.` };
  },
});

async function hasContent(path: string, workspace: Workspace): Promise<boolean> {
  try {
    return (await workspace.readBytes(expandHome(path, workspace), 1)).length > 0;
  } catch (error) {
    if (error instanceof Failure) throw error;
    return false;
  }
}
