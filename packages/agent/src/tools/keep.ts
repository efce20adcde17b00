import { z } from "zod";
import { defineTool, described, located, path } from "./tool.ts";

const MAX_BYTES = 100 * 1024 * 1024;

export const keepArtifact = defineTool({
  name: "keep_artifact",
  description: described("keep_artifact"),
  input: z.object({
    path: path("A file, relative to the workspace."),
    name: z.string().min(1).max(255).optional().meta({ description: "By default the file's own." }),
    mime_type: z
      .string()
      .max(128)
      .regex(/^[\w.+-]+\/[\w.+-]+(;\s*[\w.+-]+=[\w.+-]+)*$/)
      .optional()
      .meta({ description: "By default what name and content say." }),
  }),
  async run({ path, name = fileName(path), mime_type }, { workspace, signal }) {
    const kept = await workspace.keep(located(path, workspace), {
      name,
      mime_type,
      max_bytes: MAX_BYTES,
      signal,
    });
    const masked = kept.is_masked ? " Secrets in it were masked." : "";
    return {
      output: `Kept ${name} (${kept.mime_type}, ${kept.size_bytes} bytes) as artifact ${kept.artifact_id}.${masked}`,
    };
  },
});

function fileName(path: string): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1) || "file";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a file may be called anything, what people read may not
  return [...name.replace(/[\x00-\x1f\x7f]/g, "_")].slice(-255).join("");
}
