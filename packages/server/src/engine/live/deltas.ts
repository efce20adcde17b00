import { EventEmitter } from "node:events";
import type { ServerChannel } from "./server-channel.ts";

const RUN_ID_LENGTH = 36;

/**
 * Streams the text of an agent's message while the model is still generating it. Delivery is best effort and nothing is
 * stored, because the complete message follows as an event.
 */
export interface Deltas {
  send(runId: string, text: string): void;
  on(runId: string, listener: (text: string) => void): () => void;
}

export function openDeltas(channel: ServerChannel): Deltas {
  const emitter = new EventEmitter().setMaxListeners(0);
  channel.on("deltas", (message) =>
    void emitter.emit(message.slice(0, RUN_ID_LENGTH), message.slice(RUN_ID_LENGTH)),
  );
  return {
    send(runId, text) {
      emitter.emit(runId, text);
      channel.send("deltas", runId + text);
    },
    on(runId, listener) {
      emitter.on(runId, listener);
      return () => emitter.off(runId, listener);
    },
  };
}
