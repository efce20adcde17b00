import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Db } from "../../store/connection/db.ts";
import { notify } from "../../store/connection/notify.ts";
import { subscribe } from "../../store/connection/subscribe.ts";
import type { Counters } from "../operations/counters.ts";

/*
 * Messages between an installation's servers, based on PostgreSQL's LISTEN and NOTIFY. All kinds of messages share one
 * channel, so that each server needs only one connection to listen and one to send.
 *
 * The first line of a payload is the sender's ID, followed by the kind of the message. Topics have no kind, because
 * earlier versions send and expect them like this. An earlier version takes the lines of other kinds for topics that
 * nobody listens to.
 *
 * Delivery is best effort: messages are lost while the database or the network fails.
 */

const CHANNEL = "outrider";
/** PostgreSQL limits a payload to 8,000 bytes, including the first line. */
export const MESSAGE_BYTES = 7_900;

/** The kinds of messages, and the background task that counts their failures. */
const kinds = { topics: "pubsub", deltas: "deltas", watched: "deltas", idle: "pubsub" } as const;
export type MessageKind = keyof typeof kinds;

export type OnMessage = (message: string, sender: string) => void;

export interface ServerChannel {
  /** The sender of this server's messages. */
  serverId: string;
  /** Sends a message of up to MESSAGE_BYTES to all other servers. */
  send(kind: MessageKind, message: string): void;
  /** Receives the messages of other servers. Each kind has one listener. */
  on(kind: MessageKind, onMessage: OnMessage): void;
  close(): Promise<void>;
}

export interface ServerChannelOptions {
  /** The pool that sends notifications. */
  db: Db;
  /** Opens a pool that listens for notifications. */
  open(): Db;
  counters: Counters;
  log: Logger;
}

export async function openServerChannel({
  db,
  open,
  counters,
  log,
}: ServerChannelOptions): Promise<ServerChannel> {
  const serverId = randomUUID().slice(0, 8);
  const listeners = new Map<string, OnMessage>();
  const subscription = await subscribe({
    ...{ db, open, channel: CHANNEL },
    onMessage(payload) {
      const [, sender, kind = "topics", message] = /^(\w+)(?: (\w+))?\n(.*)$/s.exec(payload) ?? [];
      if (sender === undefined || message === undefined || sender === serverId) return;
      listeners.get(kind)?.(message, sender);
    },
    onLost: () => counters.failed("subscription"),
  });
  return {
    serverId,
    send(kind, message) {
      const header = kind === "topics" ? serverId : `${serverId} ${kind}`;
      notify(db, CHANNEL, `${header}\n${message}`).catch((error) => {
        counters.failed(kinds[kind]);
        log.debug({ error, kind }, "failed to notify other servers");
      });
    },
    on: (kind, onMessage) => void listeners.set(kind, onMessage),
    close: () => subscription.close(),
  };
}
