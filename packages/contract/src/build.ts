import { z } from "zod";
import { ResolvedImage } from "./image.ts";
import { CheckedOutRepository, PageInfo, RunStatusMessage } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

export const BuildState = z.enum(["QUEUED", "BUILDING", "READY", "FAILED"]).meta({ id: "BuildState" });
export type BuildState = z.infer<typeof BuildState>;

const summary = {
  build_id: Uuid,
  state: BuildState,
  version: z.int().meta({ description: "Version of the environment." }),
  created_at: Timestamp,
  started_at: Timestamp.optional(),
  finished_at: Timestamp.optional(),
  size_bytes: z.int().optional().meta({ description: "Compressed size of the stored files." }),
  status_message: RunStatusMessage.optional().meta({ description: "What went wrong, for a FAILED build." }),
};

export const BuildSummary = z
  .object(summary)
  .meta({ id: "BuildSummary", description: "The latest build of the current environment version." });
export type BuildSummary = z.infer<typeof BuildSummary>;

export const Build = z
  .object({
    ...summary,
    environment_id: Uuid,
    image: ResolvedImage.optional().meta({ description: "Absent until the image is resolved." }),
    repositories: z
      .array(CheckedOutRepository)
      .optional()
      .meta({ description: "The checked-out repositories. Absent until they are resolved." }),
  })
  .meta({
    id: "Build",
    description:
      "A prepared environment: repositories checked out, setup commands run. Environments with the same content share a build.",
  });
export type Build = z.infer<typeof Build>;

export const ListBuildsResponse = z.object({ builds: z.array(Build) }).meta({ id: "ListBuildsResponse" });

const data = {
  step: z.object({
    name: z.string(),
    state: z.enum(["started", "finished", "failed"]),
    exit_code: z.int().optional(),
    duration_ms: z.number().optional(),
    size_bytes: z.int().min(0).optional().meta({
      description: "What the finished step downloaded or stored, compressed.",
    }),
  }),
  output: z.object({
    stream: z
      .enum(["stdout", "stderr"])
      .meta({ description: "`stdout` for everything that a step writes, in order." }),
    text: z.string(),
  }),
  notice: z.object({ message: z.string() }),
};

/** A step of a build, which shells report too. */
export const buildStep = data.step;

/** A build log entry that the server has not numbered yet. */
export const NewBuildEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("step"), data: data.step }),
  z.strictObject({ type: z.literal("output"), data: data.output }),
  z.strictObject({ type: z.literal("notice"), data: data.notice }),
]);
export type NewBuildEvent = z.infer<typeof NewBuildEvent>;

const envelope = {
  build_id: Uuid,
  seq: z.int().min(1).meta({ description: "Sequence number. Starts at 1, without gaps." }),
  created_at: Timestamp,
};

export const BuildEvent = z
  .discriminatedUnion("type", [
    z.object({ ...envelope, type: z.literal("step"), data: data.step }).meta({ id: "BuildStepEvent" }),
    z.object({ ...envelope, type: z.literal("output"), data: data.output }).meta({ id: "BuildOutputEvent" }),
    z.object({ ...envelope, type: z.literal("notice"), data: data.notice }).meta({ id: "BuildNoticeEvent" }),
  ])
  .meta({ id: "BuildEvent", description: "One numbered entry of a build log." });
export type BuildEvent = z.infer<typeof BuildEvent>;

export const ListBuildEventsResponse = z.object({ events: z.array(BuildEvent), page_info: PageInfo }).meta({
  id: "ListBuildEventsResponse",
  description: "Pass `next_cursor` as `after` to get the next page.",
});
