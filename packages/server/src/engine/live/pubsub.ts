import { MESSAGE_BYTES, type OnMessage, type ServerChannel } from "./server-channel.ts";

/*
 * Publish/subscribe between an installation's servers, through the channel between them.
 *
 * Most messages are topic names without content. A message means that something about the topic has changed; the listener
 * reads the database to find out what. Messages with content are the exception (wake-ups.ts), and share its notifications.
 *
 * Protocol:
 * 1. `publish` immediately calls the listeners on this server, then adds the topic to the `pending` set.
 * 2. After LEAD_MS the pending topics are sent to the other servers in one notification. Further topics follow in
 *    batches, at most one notification every BATCH_MS.
 * 3. A message has one topic per line, followed by a space and the content if there is any.
 *
 * Invariants:
 * - Publish only after the transaction commits; otherwise a listener may read the old state.
 * - Delivery is best effort. Every listener also polls the database, so a lost message only adds latency.
 * - Notifications are never sent inside a transaction: NOTIFY acquires a database-wide lock at commit, which would
 *   serialize all commits.
 */

/** Other servers are notified this much later than local listeners. */
const LEAD_MS = 2;
const BATCH_MS = 10;

export interface PubSub {
  /** Notifies listeners on all servers. Call it after the transaction commits. */
  publish(topic: string): void;
  /** Adds a listener and returns a function that removes it. */
  on(topic: string, listener: () => void): () => void;
  /** Resolves on the next message for the topic, after `ms`, or when the signal aborts. */
  next(topic: string, options: { ms: number; signal: AbortSignal }): Promise<void>;
  close(): Promise<void>;
}

/** Messages with content, which share the notifications of topics. */
export interface ContentPubSub {
  /** Sends content about a topic to the other servers, and not to listeners on this one. It must fit into a message. */
  sendContent(topic: ContentTopic, content: string): void;
  /** Receives what other servers send. Each topic has one listener. */
  onContent(topic: ContentTopic, listener: OnMessage): void;
}

/** The topics of messages with content. */
export type ContentTopic = "wake";

export const topics = {
  /** Work may be waiting for any worker. For a run, servers send a wake-up instead (dispatch/wake-ups.ts). */
  queue: "queue",
  /** A run of the pool is waiting. Only servers of the previous version publish it for other pools. */
  queueOf: (pool: string) => (pool === "default" ? "queue" : `queue ${pool}`),
  maintenance: "maintenance",
  /** A key has been revoked. */
  keys: "keys",
  /** Model providers, the default model or aliases have changed. */
  models: "models",
  /** A publication has become due. */
  publications: "publications",
  /** Any worker can take a request for files. */
  fileRequests: "file requests",
  /** Notifies listeners of messages about any run. It is never published directly. */
  runs: "runs",
  run: (runId: string) => `run ${runId}`,
  worker: (workerId: string) => `worker ${workerId}`,
  build: (buildId: string) => `build ${buildId}`,
  fileRequest: (requestId: string) => `file request ${requestId}`,
  shell: (shellId: string) => `shell ${shellId}`,
};

export function openPubSub(channel: ServerChannel): PubSub & ContentPubSub {
  const listeners = new Map<string, Set<() => void>>();
  const contentListeners = new Map<string, OnMessage>();
  const pending = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const notifyListeners = (topic: string) => {
    for (const listener of [...(listeners.get(topic) ?? [])]) listener();
    if (topic.startsWith("run ")) notifyListeners(topics.runs);
  };

  function notifyOtherServers() {
    timer = undefined;
    if (pending.size === 0) return;
    let message = "";
    for (const topic of pending) {
      if (message.length + topic.length >= MESSAGE_BYTES) break;
      message += message === "" ? topic : `\n${topic}`;
      pending.delete(topic);
    }
    channel.send("topics", message);
    timer = setTimeout(notifyOtherServers, BATCH_MS);
  }

  function addPending(line: string) {
    pending.add(line);
    timer ??= setTimeout(notifyOtherServers, LEAD_MS);
  }

  channel.on("topics", (message, sender) => {
    for (const line of message.split("\n")) {
      const [topic = ""] = line.split(" ", 1);
      const onContent = contentListeners.get(topic);
      if (onContent) onContent(line.slice(topic.length + 1), sender);
      else notifyListeners(line);
    }
  });

  function on(topic: string, listener: () => void) {
    const existing = listeners.get(topic) ?? new Set();
    listeners.set(topic, existing.add(listener));
    return () => {
      existing.delete(listener);
      if (existing.size === 0) listeners.delete(topic);
    };
  }

  return {
    publish(topic) {
      notifyListeners(topic);
      addPending(topic);
    },
    sendContent: (topic, content) => addPending(`${topic} ${content}`),
    onContent: (topic, listener) => void contentListeners.set(topic, listener),
    on,
    next(topic, { ms, signal }) {
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timeout);
          off();
          signal.removeEventListener("abort", done);
          resolve();
        };
        const timeout = setTimeout(done, ms);
        const off = on(topic, done);
        signal.addEventListener("abort", done);
        if (signal.aborted) done();
      });
    },
    async close() {
      clearTimeout(timer);
    },
  };
}
