import type { NewEvent } from "@outrider/contract/event";
import type { DeliveredFollowup } from "@outrider/contract/worker";
import type { Tx } from "../store/db.ts";
import { appendEvents } from "../store/events.ts";
import { listQueuedFollowups, markDelivered } from "../store/followups.ts";

interface Delivery {
  runId: string;
  executionId: string;
  /** The report that asked for it, so that its repetition gets the same answer. */
  batch: number;
  /** Only what steers a run at work; what waits for the end of the turn goes on waiting. */
  steering?: boolean;
}

/**
 * Delivers what waits: its `message.user` event is written in the transaction that marks it, before any model sees it.
 * The caller holds the run's lock.
 */
export async function deliverFollowups(
  tx: Tx,
  { runId, executionId, batch, steering = false }: Delivery,
): Promise<DeliveredFollowup[]> {
  const waiting = await listQueuedFollowups(tx, runId, { steering });
  if (waiting.length === 0) return [];
  const events = waiting.map(
    ({ followup_id, message, mode }): NewEvent => ({
      type: "message.user",
      data: { text: message, followup_id, mode },
    }),
  );
  const last = await appendEvents(tx, runId, events);
  const delivered = waiting.map((followup, index) => ({
    ...followup,
    seq: last - waiting.length + 1 + index,
  }));
  await markDelivered(tx, delivered, { executionId, batch });
  return delivered;
}
