import type { RunEvent } from "@outrider/sdk";

export type PhaseKind = "queued" | "preparing" | "working" | "recovering" | "blocked";

export interface Phase {
  kind: PhaseKind;
  turn: number;
  attempt: number;
  from: number;
  /** Absent while the phase is ongoing. */
  to?: number;
}

export interface Step {
  name: string;
  from: number;
  to?: number;
  failed: boolean;
}

const startEvents: Partial<Record<RunEvent["type"], PhaseKind>> = {
  "run.created": "queued",
  "run.reopened": "queued",
  "run.claimed": "preparing",
  "run.started": "working",
  "run.recovering": "recovering",
  "run.blocked": "blocked",
};

const endEvents: RunEvent["type"][] = ["run.succeeded", "run.failed", "run.cancelled"];

/** Returns the run's phases in order. */
export function phasesOf(milestones: readonly RunEvent[]): Phase[] {
  const phases: Phase[] = [];
  for (const { type, created_at, turn, attempt } of milestones) {
    const kind = startEvents[type];
    const at = Date.parse(created_at);
    const last = phases.at(-1);
    if (!kind && !endEvents.includes(type)) continue;
    if (last && last.to === undefined) last.to = at;
    if (kind) phases.push({ kind, turn, attempt, from: at });
  }
  return phases;
}

/** Returns the steps that prepared the environment. */
export function stepsOf(milestones: readonly RunEvent[]): Step[] {
  const steps: Step[] = [];
  for (const event of milestones) {
    if (event.type !== "environment.step") continue;
    const { name, state } = event.data;
    const at = Date.parse(event.created_at);
    if (state === "started") steps.push({ name, from: at, failed: false });
    const open = steps.findLast((step) => step.name === name && step.to === undefined);
    if (state === "started" || !open) continue;
    open.to = at;
    open.failed = state === "failed";
  }
  return steps;
}
