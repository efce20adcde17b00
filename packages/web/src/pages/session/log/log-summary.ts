import type { PlanUpdatedEvent, RunEvent, RunUsage } from "@outrider/sdk";

const MAX_POINTS = 500;

export interface UsagePoint {
  at: string;
  usage: RunUsage;
}

/** Summarizes the log for the rest of the page as events arrive. */
export class LogSummary {
  milestones: readonly RunEvent[] = [];
  plan: PlanUpdatedEvent | undefined;
  usage: readonly UsagePoint[] = [];
  /** The text of the message that is currently streaming and is not in the log yet. */
  streamingText = "";

  add(event: RunEvent) {
    if (event.type.startsWith("run.") || event.type === "environment.step") {
      this.milestones = [...this.milestones, event];
      this.streamingText = "";
    }
    if (/^(branch|pull_request)\./.test(event.type)) this.milestones = [...this.milestones, event];
    if (event.type === "message.agent") this.streamingText = "";
    if (event.type === "plan.updated") this.plan = event;
    if (event.type === "usage.updated") this.#spend(event.created_at, event.data);
  }

  #spend(at: string, usage: RunUsage) {
    const points = [...this.usage, { at, usage }];
    // Dropping every other point preserves the chart's shape.
    this.usage =
      points.length <= MAX_POINTS
        ? points
        : points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
  }
}
