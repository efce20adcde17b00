import type { FollowupMode, RunItem } from "@outrider/sdk";

export const modeLabels: Record<FollowupMode, string> = {
  auto: "Next step",
  queue: "When done",
  interrupt: "Interrupt",
};

/** Describes what happens to a message that is sent now. */
export function describeDelivery(state: RunItem["state"], mode: FollowupMode): string {
  if (state === "QUEUED") return "Added to the prompt: the run has not started yet.";
  if (state === "BLOCKED") return "Answers the question and continues the run.";
  if (state !== "INPROGRESS") return "Starts a new turn.";
  if (mode === "queue") return "Delivered when the agent has finished its current turn.";
  if (mode === "interrupt") return "Stops the current step and is delivered immediately.";
  return "Delivered before the agent's next step.";
}
