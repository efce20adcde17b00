import type { Evidence, FollowupEvidence } from "../evidence.ts";

/** Accepted once, however often it was sent. */
export function everyFollowupIsThereOnce({ followups, told }: Evidence): string[] {
  const accepted = told.followups.map(({ followup_id }) => followup_id);
  const stored = followups.map(({ followup_id }) => followup_id);
  return [
    ...accepted.filter((id) => !stored.includes(id)).map((id) => `Follow-up ${id} was accepted and is gone.`),
    ...stored.filter((id) => !accepted.includes(id)).map((id) => `Nobody was told of follow-up ${id}.`),
    ...accepted
      .filter((id, index) => accepted.indexOf(id) !== index)
      .map((id) => `Follow-up ${id} was accepted twice.`),
  ];
}

/** Delivered by one event, or withdrawn by a cancel that came after it. */
export function everyFollowupArrivesOnce({ followups, events }: Evidence): string[] {
  return followups.flatMap(({ followup_id, run_id, delivery, seq, at }) => {
    const own = events.filter((event) => event.run_id === run_id);
    const seqs = own
      .filter((event) => event.type === "message.user" && event.followup_id === followup_id)
      .map((event) => event.seq);
    if (delivery === "delivered") {
      const isRight = seqs.length === 1 && seqs[0] === seq;
      return isRight
        ? []
        : [`Follow-up ${followup_id} is delivered as ${seq}, but the log has it as [${seqs}].`];
    }
    const isCancelled = own.some((event) => event.type === "run.cancelled" && event.at >= at);
    if (delivery === "withdrawn" && isCancelled && seqs.length === 0) return [];
    return [
      `Follow-up ${followup_id} is ${delivery}, in the log [${seqs}], its run cancelled: ${isCancelled}.`,
    ];
  });
}

/** In the order in which they were accepted, but that what waits for the end of a turn lets others pass. */
export function followupsArriveInOrder({ followups }: Evidence): string[] {
  const delivered = followups.filter(({ seq }) => seq !== null);
  return delivered.flatMap((later, index) =>
    delivered
      .slice(0, index)
      .filter((earlier) => isOvertaken(earlier, later))
      .map((earlier) => `Follow-up ${later.followup_id} arrived before ${earlier.followup_id}.`),
  );
}

function isOvertaken(earlier: FollowupEvidence, later: FollowupEvidence): boolean {
  if (earlier.run_id !== later.run_id || Number(earlier.seq) < Number(later.seq)) return false;
  return earlier.mode !== "queue" || later.mode === "queue";
}
