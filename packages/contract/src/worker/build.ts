import { z } from "zod";
import { NewBuildEvent } from "../build.ts";
import { BuildDevcontainer } from "../devcontainer.ts";
import { ErrorCodeName } from "../errors/error.ts";
import { ResolvedImage } from "../image.ts";
import { CheckedOutRepository, RunStatusMessage } from "../run.ts";
import { FoundSkill } from "../skill.ts";
import { Sha256, Uuid } from "../text.ts";
import { BatchNumber } from "./batch.ts";
import { AssignedEnvironment } from "./environment.ts";

/** Describes a finished build: its repositories and the hash of its archive, or of the list of its chunks. */
export const ReadyBuild = z.object({
  build_id: Uuid,
  sha256: Sha256,
  image: ResolvedImage.optional(),
  devcontainer: BuildDevcontainer.optional(),
  repositories: z.array(CheckedOutRepository),
  skills: z
    .array(FoundSkill)
    .optional()
    .meta({ description: "The skills in the repositories. Absent if an older worker made the build." }),
});
export type ReadyBuild = z.infer<typeof ReadyBuild>;

/** Assigns a build that was requested without a run. */
export const BuildAssignment = z.object({
  build_id: Uuid,
  token: Uuid,
  lease_ms: z.int(),
  environment: AssignedEnvironment,
});
export type BuildAssignment = z.infer<typeof BuildAssignment>;

/** Requests a run's build from these repositories and commits. `key` is a hash of all of the build's inputs. */
export const PrepareRequest = z.strictObject({
  run_id: Uuid,
  worker_id: Uuid,
  key: Sha256,
  repositories: z.array(CheckedOutRepository).max(20),
  image: ResolvedImage.optional(),
  waiting_for: Uuid.optional().meta({
    description: "The build from an earlier response. If it fails, this request fails too.",
  }),
});
export type PrepareRequest = z.infer<typeof PrepareRequest>;

export const PrepareResponse = z.discriminatedUnion("state", [
  z.object({ state: z.literal("ready"), build: ReadyBuild }),
  z.object({ state: z.literal("yours"), build_id: Uuid, token: Uuid, lease_ms: z.int() }),
  z.object({ state: z.literal("building"), build_id: Uuid }),
  z.object({ state: z.literal("failed"), build_id: Uuid, status_message: RunStatusMessage }),
]);
export type PrepareResponse = z.infer<typeof PrepareResponse>;

/** Reports a build's progress and renews its lease. Sent at least six times per lease. */
export const BuildReportRequest = z.strictObject({
  token: Uuid,
  batch: BatchNumber,
  events: z.array(NewBuildEvent).max(1_000),
});
export type BuildReportRequest = z.infer<typeof BuildReportRequest>;

/**
 * Records chunks of a build in progress, of which its archive consists. A chunk is a blob. Chunks are not deleted while
 * the build is in progress or ready. The request also renews the lease.
 */
export const BuildChunksRequest = z.strictObject({ token: Uuid, chunks: z.array(Sha256).max(1_000) });
export type BuildChunksRequest = z.infer<typeof BuildChunksRequest>;

export const BuildChunksResponse = z.object({
  missing: z.array(Sha256).meta({ description: "Chunks that the worker must upload, each with `putBlob`." }),
});
export type BuildChunksResponse = z.infer<typeof BuildChunksResponse>;

export const BuildOutcome = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("ready"),
    key: Sha256,
    sha256: Sha256,
    size_bytes: z.int().min(0),
    image: ResolvedImage.optional(),
    devcontainer: BuildDevcontainer.optional(),
    repositories: z.array(CheckedOutRepository).max(20),
    skills: z.array(FoundSkill).max(500).optional(),
  }),
  z.strictObject({ type: z.literal("failed"), error_code: ErrorCodeName, message: z.string() }),
  z
    .strictObject({ type: z.literal("abandoned") })
    .meta({ description: "The worker gave up the build. Another worker can take it over." }),
]);
export type BuildOutcome = z.infer<typeof BuildOutcome>;

export const BuildFinishRequest = z.strictObject({
  token: Uuid,
  batch: BatchNumber,
  events: z.array(NewBuildEvent).max(1_000),
  outcome: BuildOutcome,
});
export type BuildFinishRequest = z.infer<typeof BuildFinishRequest>;
