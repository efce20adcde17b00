import type { FollowupMode, RunItem } from "@outrider/sdk";

export const modeWords: Record<FollowupMode, string> = {
  auto: "Next step",
  queue: "When done",
  interrupt: "Interrupt",
};

/** What happens to a message that is sent now. */
export function effectOf(state: RunItem["state"], mode: FollowupMode): string {
  if (state === "QUEUED") return "Joins the prompt: the run has not started yet.";
  if (state === "BLOCKED") return "Answers the question; the run goes on.";
  if (state !== "INPROGRESS") return "Starts a new turn where this one ended.";
  if (mode === "queue") return "Waits until the agent is done with what it does now.";
  if (mode === "interrupt") return "Stops the current step, and is seen at once.";
  return "Seen before the agent's next step.";
}
