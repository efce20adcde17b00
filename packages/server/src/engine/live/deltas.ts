import { EventEmitter } from "node:events";
import type { Counters } from "../operations/counters.ts";
import { type Delta, DeltaBatches } from "./delta-batches.ts";
import { DeltaOrder } from "./delta-order.ts";
import type { ServerChannel } from "./server-channel.ts";
import { openWatchedRuns } from "./watched-runs.ts";

/**
 * Streams the text of an agent's message while the model is still generating it. Delivery is best effort and nothing is
 * stored, because the complete message follows as an event.
 *
 * Readers on this server receive a delta directly. It goes to other servers only if one of them has announced that it
 * has readers of the run, so that a run that nobody watches elsewhere costs the database nothing. A worker may send its
 * deltas to several servers, therefore each server restores their order for its own readers.
 */
export interface Deltas {
  send(delta: Delta): void;
  on(runId: string, listener: (text: string) => void): () => void;
  close(): void;
}

export function openDeltas(channel: ServerChannel, counters: Counters): Deltas {
  const emitter = new EventEmitter().setMaxListeners(0);
  const orders = new Map<string, DeltaOrder>();
  const watchedRuns = openWatchedRuns(channel);
  const batches = new DeltaBatches({
    send: (message) => channel.send("deltas", message),
    onDropped: () => counters.failed("deltas"),
    onReceived: (piece) => orders.get(piece.runId)?.add(piece),
  });
  channel.on("deltas", (message) => batches.receive(message));
  return {
    send(delta) {
      orders.get(delta.runId)?.add({ ...delta, count: 1 });
      if (watchedRuns.isWatchedElsewhere(delta.runId)) batches.add(delta);
    },
    on(runId, listener) {
      emitter.on(runId, listener);
      if (!orders.has(runId)) orders.set(runId, new DeltaOrder((text) => emitter.emit(runId, text)));
      watchedRuns.add(runId);
      return () => {
        emitter.off(runId, listener);
        if (emitter.listenerCount(runId) > 0) return;
        orders.get(runId)?.close();
        orders.delete(runId);
        watchedRuns.delete(runId);
      };
    },
    close() {
      watchedRuns.close();
      batches.close();
      for (const order of orders.values()) order.close();
    },
  };
}
