import { z } from "zod";
import { CheckedOut, PageInfo, RunStatusMessage } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

export const BuildState = z.enum(["QUEUED", "BUILDING", "READY", "FAILED"]).meta({ id: "BuildState" });
export type BuildState = z.infer<typeof BuildState>;

const summary = {
  build_id: Uuid,
  state: BuildState,
  version: z.int().meta({ description: "Of the environment." }),
  created_at: Timestamp,
  started_at: Timestamp.optional(),
  finished_at: Timestamp.optional(),
  size_bytes: z.int().optional().meta({ description: "Of what is stored, compressed." }),
  status_message: RunStatusMessage.optional().meta({ description: "On FAILED: what went wrong." }),
};

export const BuildSummary = z
  .object(summary)
  .meta({ id: "BuildSummary", description: "The latest build of the environment as it is now." });
export type BuildSummary = z.infer<typeof BuildSummary>;

export const Build = z
  .object({
    ...summary,
    environment_id: Uuid,
    repositories: z.array(CheckedOut).optional().meta({ description: "Known once they are resolved." }),
  })
  .meta({
    id: "Build",
    description:
      "A prepared environment: repositories checked out, setup commands run. Made once for the same content; runs start from a copy of it.",
  });
export type Build = z.infer<typeof Build>;

export const ListBuildsResponse = z.object({ builds: z.array(Build) }).meta({ id: "ListBuildsResponse" });

const data = {
  step: z.object({
    name: z.string(),
    state: z.enum(["started", "finished", "failed"]),
    exit_code: z.int().optional(),
    duration_ms: z.number().optional(),
  }),
  output: z.object({ stream: z.enum(["stdout", "stderr"]), text: z.string() }),
  notice: z.object({ message: z.string() }),
};

/** A line of a build's log before it is numbered. */
export const NewBuildEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("step"), data: data.step }),
  z.strictObject({ type: z.literal("output"), data: data.output }),
  z.strictObject({ type: z.literal("notice"), data: data.notice }),
]);
export type NewBuildEvent = z.infer<typeof NewBuildEvent>;

export const BuildEvent = z
  .object({
    build_id: Uuid,
    seq: z.int().min(1).meta({ description: "From 1, without gaps." }),
    created_at: Timestamp,
    type: z.enum(["step", "output", "notice"]),
    data: z.union([data.step, data.output, data.notice]),
  })
  .meta({ id: "BuildEvent", description: "One numbered line of a build's log." });
export type BuildEvent = z.infer<typeof BuildEvent>;

export const ListBuildEventsResponse = z
  .object({ events: z.array(BuildEvent), page_info: PageInfo })
  .meta({ id: "ListBuildEventsResponse", description: "`next_cursor` is the `after` of the next page." });
