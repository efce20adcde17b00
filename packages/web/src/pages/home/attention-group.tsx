import { CheckCheck } from "lucide-react";
import { useId, useState } from "react";
import { setAttentionScope, useAttention, useAttentionScope, useDismiss } from "../../attention.ts";
import { Button } from "../../ui/button.tsx";
import { SegmentedControl } from "../../ui/form/segmented-control.tsx";
import { AttentionMenu } from "./attention-menu.tsx";
import { RunLine } from "./run-line.tsx";
import { ATTENTION_SHOWN as SHOWN } from "./use-overview.ts";

const MAX = 100;

/** Lists the runs that wait for an answer or failed, until the user deals with them, dismisses or snoozes them. */
export function AttentionGroup() {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const scope = useAttentionScope();
  const { data } = useAttention(isOpen ? MAX : SHOWN);
  const { dismiss, dismissAll } = useDismiss();
  if (!data || (data.count === 0 && scope === "everyone")) return null;
  const { runs, count, has_more } = data;
  const total = has_more ? `${count}+` : String(count);
  return (
    <section aria-labelledby={id}>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 pb-2">
        <h2 id={id} className="font-semibold">
          Needs attention
        </h2>
        {count > 0 && (
          <span className="rounded-full bg-warn-soft px-2 text-xs font-medium text-warn tabular-nums">
            {total}
            <span className="sr-only"> runs</span>
          </span>
        )}
        <span className="flex-1 max-sm:basis-full" />
        <SegmentedControl
          small
          label="Whose runs"
          value={scope}
          onChange={setAttentionScope}
          options={[
            { value: "mine", label: "Mine" },
            { value: "everyone", label: "Everyone" },
          ]}
        />
        {count > 0 && (
          <Button
            small
            variant="quiet"
            busy={dismissAll.isPending}
            icon={<CheckCheck className="size-4" aria-hidden />}
            onClick={() => dismissAll.mutate()}
          >
            Dismiss all
          </Button>
        )}
      </header>
      {count === 0 ? (
        <p className="rounded-xl border border-dashed border-line px-4 py-5 text-muted">
          None of your runs needs attention.
        </p>
      ) : (
        <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
          {runs.map((run) => (
            <RunLine
              key={run.run_id}
              run={run}
              actions={<AttentionMenu run={run} onDismiss={(body) => dismiss.mutate({ run, ...body })} />}
            />
          ))}
        </ul>
      )}
      {count > SHOWN && (
        <Button
          small
          variant="quiet"
          className="mt-1"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "Show fewer" : `Show all ${total}`}
        </Button>
      )}
    </section>
  );
}
