import type { FollowupMode, RunLimits } from "@outrider/sdk";
import { outrider } from "../../../api.ts";
import { attachmentOf } from "../../../attachment.ts";
import { queryClient } from "../../../queries.ts";

export interface OutgoingMessage {
  message: string;
  mode?: FollowupMode;
  limits?: RunLimits | undefined;
  files?: readonly File[];
}

const outcomeMessages = {
  queued_prompt: "Message added to the prompt",
  live_session: "Message sent",
  new_turn: "Run continued",
};

/** Sends a message to the run and returns a confirmation to show. */
export async function sendMessage(
  runId: string,
  { message, mode, limits, files = [] }: OutgoingMessage,
): Promise<string> {
  const attachments = await Promise.all(files.map(attachmentOf));
  const { outcome } = await outrider.followups.create(runId, {
    message,
    ...(mode && { mode }),
    ...(limits && { limits }),
    ...(attachments.length > 0 && { attachments }),
  });
  await queryClient.invalidateQueries({ queryKey: ["run", runId] });
  return outcomeMessages[outcome];
}
