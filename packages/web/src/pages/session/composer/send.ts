import type { FollowupMode, RunLimits } from "@outrider/sdk";
import { outrider } from "../../../api.ts";
import { queryClient } from "../../../queries.ts";
import { attachmentOf } from "./files.ts";

export interface Letter {
  message: string;
  mode?: FollowupMode;
  limits?: RunLimits | undefined;
  files?: readonly File[];
}

const outcomeWords = {
  queued_prompt: "Your message joins the prompt",
  live_session: "Sent to the agent",
  new_turn: "The run goes on with your message",
};

/** Sends a message to the run, and says what became of it. */
export async function sendLetter(
  runId: string,
  { message, mode, limits, files = [] }: Letter,
): Promise<string> {
  const attachments = await Promise.all(files.map(attachmentOf));
  const { outcome } = await outrider.followups.create(runId, {
    message,
    ...(mode && { mode }),
    ...(limits && { limits }),
    ...(attachments.length > 0 && { attachments }),
  });
  await queryClient.invalidateQueries({ queryKey: ["run", runId] });
  return outcomeWords[outcome];
}
