import type { FollowupRecord, History } from "../history.ts";

/** Every acknowledged follow-up is stored exactly once, however often the client sent it. */
export function followupsAreStoredOnce({ followups, acknowledged }: History): string[] {
  const acknowledgedIds = acknowledged.followups.map(({ followup_id }) => followup_id);
  const storedIds = followups.map(({ followup_id }) => followup_id);
  return [
    ...acknowledgedIds
      .filter((id) => !storedIds.includes(id))
      .map((id) => `Follow-up ${id} was acknowledged but is not stored.`),
    ...storedIds
      .filter((id) => !acknowledgedIds.includes(id))
      .map((id) => `Follow-up ${id} is stored but was never acknowledged.`),
    ...acknowledgedIds
      .filter((id, index) => acknowledgedIds.indexOf(id) !== index)
      .map((id) => `Follow-up ${id} was acknowledged twice.`),
  ];
}

/** Every follow-up is delivered by exactly one event, or withdrawn by a later cancel. */
export function followupsAreDeliveredOnce({ followups, events }: History): string[] {
  return followups.flatMap(({ followup_id, run_id, delivery, seq, at }) => {
    const runEvents = events.filter((event) => event.run_id === run_id);
    const seqs = runEvents
      .filter((event) => event.type === "message.user" && event.followup_id === followup_id)
      .map((event) => event.seq);
    if (delivery === "delivered") {
      const isDeliveredOnce = seqs.length === 1 && seqs[0] === seq;
      return isDeliveredOnce
        ? []
        : [`Follow-up ${followup_id} is delivered as event ${seq}, but the log has it as [${seqs}].`];
    }
    const isCancelled = runEvents.some((event) => event.type === "run.cancelled" && event.at >= at);
    if (delivery === "withdrawn" && isCancelled && seqs.length === 0) return [];
    return [`Follow-up ${followup_id} is ${delivery}; events: [${seqs}]; run cancelled: ${isCancelled}.`];
  });
}

/** Follow-ups are delivered in the order of acceptance, except that others may overtake one in `queue` mode. */
export function followupsAreDeliveredInOrder({ followups }: History): string[] {
  const delivered = followups.filter(({ seq }) => seq !== null);
  return delivered.flatMap((later, index) =>
    delivered
      .slice(0, index)
      .filter((earlier) => isOutOfOrder(earlier, later))
      .map((earlier) => `Follow-up ${later.followup_id} was delivered before ${earlier.followup_id}.`),
  );
}

function isOutOfOrder(earlier: FollowupRecord, later: FollowupRecord): boolean {
  if (earlier.run_id !== later.run_id || Number(earlier.seq) < Number(later.seq)) return false;
  return earlier.mode !== "queue" || later.mode === "queue";
}
