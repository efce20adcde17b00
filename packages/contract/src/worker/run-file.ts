import { z } from "zod";
import { RunFileEntry, RunFileSource, runFileLimits } from "../run-file.ts";
import { Sha256, Uuid } from "../text.ts";

/** Requests to read files of runs. The signals of a worker list those that it can take. */
export const FileRequestSignal = z.object({
  request_id: Uuid,
  run_id: Uuid,
  source: RunFileSource.meta({
    description: "With `sandbox`, only the process that has the run's sandbox takes the request.",
  }),
});
export type FileRequestSignal = z.infer<typeof FileRequestSignal>;

export const FileRequestTakeRequest = z.strictObject({ worker_id: Uuid, source: RunFileSource });
export type FileRequestTakeRequest = z.infer<typeof FileRequestTakeRequest>;

export const FileRequestKind = z.enum(["list", "read"]);
export type FileRequestKind = z.infer<typeof FileRequestKind>;

export const FileRequestFailure = z.enum([
  "not_found",
  "not_a_folder",
  "not_a_file",
  "not_readable",
  "too_large",
  "contains_secret",
  "unavailable",
]);
export type FileRequestFailure = z.infer<typeof FileRequestFailure>;

export const FileRequestFinishRequest = z.strictObject({
  worker_id: Uuid,
  outcome: z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("listed"),
      entries: z.array(RunFileEntry).max(runFileLimits.entries),
      is_truncated: z.boolean(),
    }),
    z
      .strictObject({ type: z.literal("read"), sha256: Sha256, size_bytes: z.int().min(0) })
      .meta({ description: "The content has been uploaded with `putBlob`." }),
    z.strictObject({
      type: z.literal("failed"),
      reason: FileRequestFailure,
      message: z.string().max(2_000).optional(),
    }),
    z
      .strictObject({ type: z.literal("abandoned") })
      .meta({ description: "Another worker can read the snapshot." }),
  ]),
});
export type FileRequestFinishRequest = z.infer<typeof FileRequestFinishRequest>;
