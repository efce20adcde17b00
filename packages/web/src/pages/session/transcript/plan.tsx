import type { PlanUpdatedEvent } from "@outrider/sdk";
import clsx from "clsx";
import { Circle, CircleCheck, CircleDot, ListTodo } from "lucide-react";
import { visibleLine } from "../../../ui/visible.ts";
import { Card } from "./card.tsx";

type Steps = PlanUpdatedEvent["data"]["steps"];

const looks = {
  done: { Sign: CircleCheck, colour: "text-good", words: "done" },
  active: { Sign: CircleDot, colour: "text-live", words: "under way" },
  pending: { Sign: Circle, colour: "text-muted", words: "to do" },
};

export function planCount(steps: Steps): string {
  return `${steps.filter(({ state }) => state === "done").length}/${steps.length}`;
}

export function PlanSteps({ steps }: { steps: Steps }) {
  return (
    <ol className="flex flex-col gap-1.5">
      {steps.slice(0, 100).map(({ text, state }, index) => {
        const { Sign, colour, words } = looks[state];
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other name.
          <li key={index} className={clsx("flex items-start gap-2", state === "done" && "text-muted")}>
            <Sign className={clsx("mt-[0.2rem] size-4 shrink-0", colour)} aria-hidden />
            <span className="sr-only">{words}: </span>
            <span className="min-w-0 [overflow-wrap:anywhere] [unicode-bidi:plaintext]">
              {visibleLine(text.slice(0, 500))}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

/** The plan as it stood at this place of the log. */
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
