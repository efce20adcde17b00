import type { RunEvent } from "@outrider/sdk";

export type PhaseKind = "queued" | "preparing" | "working" | "recovering" | "blocked";

export interface Phase {
  kind: PhaseKind;
  turn: number;
  attempt: number;
  from: number;
  /** Absent while it lasts. */
  to?: number;
}

export interface Step {
  name: string;
  from: number;
  to?: number;
  failed: boolean;
}

const begins: Partial<Record<RunEvent["type"], PhaseKind>> = {
  "run.created": "queued",
  "run.reopened": "queued",
  "run.claimed": "preparing",
  "run.started": "working",
  "run.recovering": "recovering",
  "run.blocked": "blocked",
};

const ends: RunEvent["type"][] = ["run.succeeded", "run.failed", "run.cancelled"];

/** What the run was in, one after the other. */
export function phasesOf(milestones: readonly RunEvent[]): Phase[] {
  const phases: Phase[] = [];
  for (const { type, created_at, turn, attempt } of milestones) {
    const kind = begins[type];
    const at = Date.parse(created_at);
    const last = phases.at(-1);
    if (!kind && !ends.includes(type)) continue;
    if (last && last.to === undefined) last.to = at;
    if (kind) phases.push({ kind, turn, attempt, from: at });
  }
  return phases;
}

/** The steps that made the environment ready. */
export function stepsOf(milestones: readonly RunEvent[]): Step[] {
  const steps: Step[] = [];
  for (const event of milestones) {
    if (event.type !== "environment.step") continue;
    const { name, state } = event.data;
    const at = Date.parse(event.created_at);
    if (state === "started") steps.push({ name, from: at, failed: false });
    const begun = steps.findLast((step) => step.name === name && step.to === undefined);
    if (state === "started" || !begun) continue;
    begun.to = at;
    begun.failed = state === "failed";
  }
  return steps;
}
