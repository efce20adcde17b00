import type { ReactNode } from "react";
import type { Faults } from "../../faults.ts";
import type { Draft } from "./draft.ts";

/** What every part of the form gets. */
export interface PartProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  faults: Faults;
}

interface PartFrameProps {
  title: string;
  lead: ReactNode;
  children: ReactNode;
}

/** One subject of the form: its words at the side where there is room, its fields beside them. */
export function PartFrame({ title, lead, children }: PartFrameProps) {
  return (
    <fieldset className="grid gap-x-8 gap-y-3 border-t border-line py-6 first:border-t-0 first:pt-2 lg:grid-cols-[15rem_minmax(0,1fr)]">
      <legend className="sr-only">{title}</legend>
      <div>
        <h2 className="font-semibold">{title}</h2>
        <div className="mt-1 text-xs text-muted">{lead}</div>
      </div>
      <div className="flex min-w-0 flex-col gap-4">{children}</div>
    </fieldset>
  );
}
