import { z } from "zod";
import { Timestamp, text } from "./text.ts";

export const runFileLimits = {
  /** The maximum number of entries in a list. */
  entries: 2_000,
  /** The maximum size of a file that can be downloaded. */
  bytes: 32 * 1024 * 1024,
  pathCharacters: 4_096,
  /** How long a request waits for a worker. */
  waitMs: 15_000,
};

function checkPath(path: string, context: z.RefinementCtx<string>) {
  if (path.includes("\0")) context.addIssue("must not contain a NUL character");
  if (path.split("/").includes("..")) context.addIssue("must not contain `..`");
}

const { pathCharacters } = runFileLimits;

/** A path below the workspace. */
export const RunFilePath = text({ max: pathCharacters })
  .superRefine(checkPath)
  .meta({
    description: "Path of the file, relative to the workspace.",
    examples: ["api/README.md"],
  });

export const RunFolderPath = text({ min: 0, max: pathCharacters })
  .superRefine(checkPath)
  .meta({
    description: "Path of the folder, relative to the workspace. Default: the workspace itself.",
    examples: ["api/src"],
  });

/** Returns a path without empty parts and `.`, so that equal paths are equal strings. */
export function normalizeRunPath(path: string): string {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}

export const ListRunFilesQuery = z.strictObject({ path: RunFolderPath.optional() });
export const ReadRunFileQuery = z.strictObject({ path: RunFilePath });

export const RunFileEntry = z
  .object({
    name: z.string().max(1_024),
    type: z.enum(["file", "folder", "link", "other"]).meta({
      description: "Links are not followed. `other` is a pipe, a socket or a device.",
    }),
    size_bytes: z.int().min(0).optional().meta({ description: "Present for files." }),
    modified_at: Timestamp.optional(),
  })
  .meta({ id: "RunFileEntry" });
export type RunFileEntry = z.infer<typeof RunFileEntry>;

export const RunFileSource = z.enum(["sandbox", "snapshot"]);
export type RunFileSource = z.infer<typeof RunFileSource>;

export const RunFiles = z
  .object({
    path: z.string(),
    source: RunFileSource.meta({
      description: "`sandbox` if the run's sandbox is open, otherwise the files that were stored last.",
    }),
    read_at: Timestamp,
    entries: z.array(RunFileEntry).max(runFileLimits.entries).meta({
      description: "Folders first, then by name. Secrets in names are replaced with `***`.",
    }),
    is_truncated: z.boolean().meta({ description: "The folder contains more entries." }),
  })
  .meta({ id: "RunFiles", description: "The content of one folder of a run's workspace." });
export type RunFiles = z.infer<typeof RunFiles>;
