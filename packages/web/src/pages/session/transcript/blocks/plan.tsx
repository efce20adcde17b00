import type { PlanUpdatedEvent } from "@outrider/sdk";
import clsx from "clsx";
import { Circle, CircleCheck, CircleDot, ListTodo } from "lucide-react";
import { sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { Card } from "./card.tsx";

type Steps = PlanUpdatedEvent["data"]["steps"];

const styles = {
  done: { Icon: CircleCheck, color: "text-good", label: "done" },
  active: { Icon: CircleDot, color: "text-live", label: "in progress" },
  pending: { Icon: Circle, color: "text-muted", label: "to do" },
};

export function planCount(steps: Steps): string {
  return `${steps.filter(({ state }) => state === "done").length}/${steps.length}`;
}

export function PlanSteps({ steps }: { steps: Steps }) {
  return (
    <ol className="flex flex-col gap-1.5">
      {steps.slice(0, 100).map(({ text, state }, index) => {
        const { Icon, color, label } = styles[state];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity.
          <li key={index} className={clsx("flex items-start gap-2", state === "done" && "text-muted")}>
            <Icon className={clsx("mt-[0.2rem] size-4 shrink-0", color)} aria-hidden />
            <span className="sr-only">{label}: </span>
            <span className="min-w-0 [overflow-wrap:anywhere] [unicode-bidi:plaintext]">
              {sanitizeLine(text.slice(0, 500))}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** Shows the plan as it was at this point in the log. */
export function Plan({ event }: { event: PlanUpdatedEvent }) {
  const { steps } = event.data;
  return (
    <Card
      seq={event.seq}
      at={event.created_at}
      label="Plan"
      icon={<ListTodo className="size-4" aria-hidden />}
      title={
        <span className="font-medium">
          Plan <span className="text-muted tabular-nums">{planCount(steps)}</span>
        </span>
      }
    >
      <div className="px-4 pb-3">
        <PlanSteps steps={steps} />
      </div>
    </Card>
  );
}
