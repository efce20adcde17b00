import { EventEmitter } from "node:events";
import { keepListening } from "../store/listen.ts";
import type { Voice } from "./wake.ts";

const CHANNEL = "outrider_deltas";

/** An agent's words while they are being said: best effort, never stored; the whole message follows as an event. */
export interface Deltas {
  send(runId: string, text: string): void;
  on(runId: string, listener: (text: string) => void): () => void;
  close(): Promise<void>;
}

export async function openDeltas({ db, open, tally, log }: Voice): Promise<Deltas> {
  const emitter = new EventEmitter().setMaxListeners(0);
  const hear = (payload: string) => void emitter.emit(payload.slice(0, 36), payload.slice(36));
  const deaf = () => tally.failed("listening");
  const listening = await keepListening({ db, open, channel: CHANNEL, hear, deaf });
  return {
    // Through the database even where the reader is on this server: then every reader sees the same order.
    send(runId, text) {
      db.notify(CHANNEL, runId + text).catch((error) => {
        tally.failed("deltas");
        log.debug({ error }, "a delta is lost");
      });
    },
    on(runId, listener) {
      emitter.on(runId, listener);
      return () => emitter.off(runId, listener);
    },
    close: () => listening.close(),
  };
}
