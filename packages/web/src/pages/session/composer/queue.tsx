import type { RunFollowup } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { queries } from "../../../queries.ts";
import { QueuedMessage } from "./queued-message.tsx";

const noFollowups: RunFollowup[] = [];

/** Shows the messages that have not been delivered yet. They can still be edited or withdrawn. */
export function Queue({ runId, isOver }: { runId: string; isOver: boolean }) {
  const { data = noFollowups } = useQuery({
    ...queries.followups(runId),
    refetchInterval: ({ state }) =>
      state.data?.some(({ delivery }) => delivery === "queued") ? 1_500 : isOver ? false : 15_000,
  });
  const queued = data.filter(({ delivery }) => delivery === "queued");
  if (queued.length === 0) return null;
  return (
    <section aria-label="Undelivered messages">
      <p className="px-1 pb-1 text-xs text-muted">
        Not delivered yet. You can still edit or withdraw {queued.length === 1 ? "it" : "them"}.
      </p>
      <ul className="flex max-h-48 flex-col gap-1 overflow-y-auto">
        {queued.map((followup) => (
          <QueuedMessage key={followup.followup_id} runId={runId} followup={followup} />
        ))}
      </ul>
    </section>
  );
}
