import { z } from "zod";
import { expandHome } from "./expand-home.ts";
import { defineTool, loadDescription, path } from "./tool.ts";

const MAX_BYTES = 100 * 1024 * 1024;

export const keepArtifact = defineTool({
  name: "keep_artifact",
  description: loadDescription("keep_artifact"),
  input: z.object({
    path: path("The file, relative to the folder in which commands start."),
    name: z.string().min(1).max(255).optional().meta({ description: "Default: the file's own name." }),
    mime_type: z
      .string()
      .max(128)
      .regex(/^[\w.+-]+\/[\w.+-]+(;\s*[\w.+-]+=[\w.+-]+)*$/)
      .optional()
      .meta({ description: "Default: detected from the name and content." }),
  }),
  async run({ path, name = fileName(path), mime_type }, { workspace, signal }) {
    const stored = await workspace.storeArtifact(expandHome(path, workspace), {
      name,
      mime_type,
      max_bytes: MAX_BYTES,
      signal,
    });
    const maskedNote = stored.is_masked ? " Secrets in it were masked." : "";
    return {
      output: `Saved ${name} (${stored.mime_type}, ${stored.size_bytes} bytes) as artifact ${stored.artifact_id}.${maskedNote}`,
    };
  },
});

function fileName(path: string): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1) || "file";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a file name may contain control characters, an artifact name may not
  return [...name.replace(/[\x00-\x1f\x7f]/g, "_")].slice(-255).join("");
}
