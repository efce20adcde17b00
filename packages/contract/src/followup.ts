import { z } from "zod";
import { limits } from "./limits.ts";
import { Attachments, RunLimits, RunState } from "./run.ts";
import { Timestamp, text, Uuid } from "./text.ts";

const Message = text({ bytes: limits.prompt }).meta({ description: "1 byte to 256 KiB." });

export const FollowupMode = z.enum(["auto", "queue", "interrupt"]).meta({
  id: "FollowupMode",
  description:
    "`auto`: seen before the next model call. `queue`: waits for the end of the turn. `interrupt`: stops the current step first.",
});
export type FollowupMode = z.infer<typeof FollowupMode>;

export const RunFollowupRequest = z
  .strictObject({
    message: Message,
    mode: FollowupMode.optional().meta({ description: "Default `auto`." }),
    limits: RunLimits.optional().meta({
      description: "Change the run's limits. A turn at work keeps those it began with.",
    }),
    attachments: Attachments.optional(),
  })
  .meta({ id: "RunFollowupRequest", examples: [{ message: "Also add a test for the empty file." }] });
export type RunFollowupRequest = z.infer<typeof RunFollowupRequest>;

export const FollowupOutcome = z.enum(["queued_prompt", "live_session", "new_turn"]).meta({
  id: "FollowupOutcome",
  description:
    "`queued_prompt`: the run has not started, the message joins the prompt. `live_session`: the run is at work. `new_turn`: the run was final or blocked and continues.",
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
    seq: z.int().optional().meta({ description: "The event that carries it, once delivered." }),
    created_at: Timestamp,
  })
  .meta({ id: "RunFollowup" });
export type Followup = z.infer<typeof Followup>;

export const ListFollowupsResponse = z
  .object({ followups: z.array(Followup) })
  .meta({ id: "ListFollowupsResponse" });

export const UpdateFollowupRequest = z
  .strictObject({ message: Message.optional(), mode: FollowupMode.optional() })
  .superRefine((change, context) => {
    if (change.message === undefined && change.mode === undefined) {
      context.addIssue("needs `message` or `mode`");
    }
  })
  .meta({ id: "UpdateFollowupRequest", minProperties: 1 });
