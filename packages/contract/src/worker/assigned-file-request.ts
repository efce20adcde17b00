import { z } from "zod";
import { Uuid } from "../text.ts";
import { Assignment } from "../worker.ts";
import { FileRequestKind } from "./run-file.ts";

/** What a worker needs to open the stored files of a run, and to redact the run's secrets in them. */
export const StoredRunFiles = Assignment.pick({
  run_id: true,
  agent_config: true,
  harness: true,
  model: true,
  environment: true,
  build: true,
  image_build: true,
  snapshot: true,
  secrets: true,
});
export type StoredRunFiles = z.infer<typeof StoredRunFiles>;

export const AssignedFileRequest = z.object({
  request_id: Uuid,
  run_id: Uuid,
  kind: FileRequestKind,
  path: z.string().meta({ description: "Normalized, relative to the workspace. Empty for the workspace." }),
  stored: StoredRunFiles.optional().meta({ description: "Absent if the worker reads the run's sandbox." }),
});
export type AssignedFileRequest = z.infer<typeof AssignedFileRequest>;
