import clsx from "clsx";
import { Check } from "lucide-react";
import type { ReactNode } from "react";

interface StepProps {
  number: number;
  title: string;
  state: "done" | "open" | "waits";
  children?: ReactNode;
}

const backgrounds = {
  done: "bg-good-soft text-good",
  open: "bg-accent-soft text-accent-ink",
  waits: "bg-warn-soft text-warn",
};

export function Step({ number, title, state, children }: StepProps) {
  return (
    <li className="flex gap-3 rounded-xl border border-line bg-surface p-4">
      <span
        className={clsx(
          "grid size-6 shrink-0 place-items-center rounded-full text-xs font-semibold",
          backgrounds[state],
        )}
      >
        {state === "done" ? <Check className="size-4" aria-label="Done" /> : number}
      </span>
      <div className="min-w-0 flex-1">
        <h2 className="pt-0.5 font-semibold">{title}</h2>
        {children && <div className="pt-1.5">{children}</div>}
      </div>
    </li>
  );
}
