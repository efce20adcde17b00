import type { PlanUpdatedEvent } from "@outrider/sdk";
import { ListTodo } from "lucide-react";
import { sanitizeLine } from "../../../ui/text/sanitize.ts";
import { PlanSteps, planCount } from "./blocks/plan.tsx";

/** Shows the current plan next to the transcript on wide screens. */
export function PlanAside({ plan }: { plan: PlanUpdatedEvent }) {
  const { steps } = plan.data;
  return (
    <aside
      aria-label="Plan"
      className="hidden w-72 shrink-0 overflow-y-auto border-l border-line p-4 xl:block"
    >
      <h2 className="flex items-center gap-2 pb-3 font-semibold">
        <ListTodo className="size-4 text-muted" aria-hidden />
        Plan
        <span className="font-normal text-muted tabular-nums">{planCount(steps)}</span>
      </h2>
      <PlanSteps steps={steps} />
    </aside>
  );
}

/** Shows the current plan on one line above the transcript on narrow screens. */
export function PlanBar({ plan }: { plan: PlanUpdatedEvent }) {
  const { steps } = plan.data;
  const now = steps.find(({ state }) => state === "active") ?? steps.find(({ state }) => state === "pending");
  return (
    <details className="border-b border-line bg-surface xl:hidden">
      <summary className="flex h-9 items-center gap-2 px-4 -outline-offset-2 marker:content-none">
        <ListTodo className="size-4 shrink-0 text-muted" aria-hidden />
        <span className="shrink-0 font-medium">Plan</span>
        <span className="shrink-0 text-muted tabular-nums">{planCount(steps)}</span>
        {now && <bdi className="truncate text-muted">{sanitizeLine(now.text.slice(0, 200))}</bdi>}
      </summary>
      <div className="max-h-60 overflow-y-auto px-4 pb-3">
        <PlanSteps steps={steps} />
      </div>
    </details>
  );
}
