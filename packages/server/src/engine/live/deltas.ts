import { EventEmitter } from "node:events";
import { subscribe } from "../../store/connection/subscribe.ts";
import type { PubSubOptions } from "./pubsub.ts";

const CHANNEL = "outrider_deltas";
const RUN_ID_LENGTH = 36;

/**
 * Streams the text of an agent's message while the model is still generating it. Delivery is best effort and nothing is
 * stored, because the complete message follows as an event.
 */
export interface Deltas {
  send(runId: string, text: string): void;
  on(runId: string, listener: (text: string) => void): () => void;
  close(): Promise<void>;
}

export async function openDeltas({ db, open, counters, log }: PubSubOptions): Promise<Deltas> {
  const emitter = new EventEmitter().setMaxListeners(0);
  const onMessage = (payload: string) =>
    void emitter.emit(payload.slice(0, RUN_ID_LENGTH), payload.slice(RUN_ID_LENGTH));
  const onLost = () => counters.failed("subscription");
  const subscription = await subscribe({ db, open, channel: CHANNEL, onMessage, onLost });
  return {
    // Deltas are always sent through the database, even to readers on this server, so that all readers receive them in
    // the same order.
    send(runId, text) {
      db.notify(CHANNEL, runId + text).catch((error) => {
        counters.failed("deltas");
        log.debug({ error }, "failed to send delta");
      });
    },
    on(runId, listener) {
      emitter.on(runId, listener);
      return () => emitter.off(runId, listener);
    },
    close: () => subscription.close(),
  };
}
