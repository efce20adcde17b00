import { z } from "zod";
import { limits } from "./limits.ts";
import { Attachments, RunLimits, RunState } from "./run.ts";
import { Timestamp, text, Uuid } from "./text.ts";

const Message = text({ bytes: limits.prompt }).meta({
  description: "The message to the agent, 1 byte to 256 KiB.",
});

export const FollowupMode = z.enum(["auto", "queue", "interrupt"]).meta({
  id: "FollowupMode",
  description:
    "`auto`: delivered before the next model call. `queue`: delivered at the end of the turn. `interrupt`: stops the current step first.",
});
export type FollowupMode = z.infer<typeof FollowupMode>;

export const RunFollowupRequest = z
  .strictObject({
    message: Message,
    mode: FollowupMode.optional().meta({ description: "When the message is delivered. Default `auto`." }),
    limits: RunLimits.optional().meta({
      description: "New limits for the run. A turn in progress keeps its limits.",
    }),
    attachments: Attachments.optional(),
  })
  .meta({ id: "RunFollowupRequest", examples: [{ message: "Also add a test for the empty file." }] });
export type RunFollowupRequest = z.infer<typeof RunFollowupRequest>;

export const FollowupOutcome = z.enum(["queued_prompt", "live_session", "new_turn"]).meta({
  id: "FollowupOutcome",
  description:
    "`queued_prompt`: added to the prompt of a waiting run. `live_session`: the run is in progress. `new_turn`: a final or blocked run continues.",
});
export type FollowupOutcome = z.infer<typeof FollowupOutcome>;

export const RunFollowupResponse = z
  .object({ followup_id: Uuid, run_id: Uuid, state: RunState, outcome: FollowupOutcome })
  .meta({ id: "RunFollowupResponse" });

export const Followup = z
  .object({
    followup_id: Uuid,
    message: z.string(),
    mode: FollowupMode,
    delivery: z.enum(["queued", "delivered", "withdrawn"]),
    seq: z.int().optional().meta({ description: "The event of the message. Absent until it is delivered." }),
    created_at: Timestamp,
  })
  .meta({ id: "RunFollowup" });
export type Followup = z.infer<typeof Followup>;

export const ListFollowupsResponse = z
  .object({ followups: z.array(Followup) })
  .meta({ id: "ListFollowupsResponse" });

export const UpdateFollowupRequest = z
  .strictObject({
    message: Message.optional(),
    mode: FollowupMode.nullable()
      .transform((mode) => mode ?? "auto")
      .optional()
      .meta({ description: "When the message is delivered. A JSON null resets it to `auto`, the default." }),
  })
  .superRefine((change, context) => {
    if (change.message === undefined && change.mode === undefined) {
      context.addIssue("must have `message` or `mode`");
    }
  })
  .meta({ id: "UpdateFollowupRequest", minProperties: 1 });
