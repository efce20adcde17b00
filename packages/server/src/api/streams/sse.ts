import type { FastifyReply, FastifyRequest } from "fastify";
import { ApiError, invalidField } from "../../engine/api-error.ts";
import { startTicker } from "../../ticker.ts";

const HEARTBEAT_MS = 15_000;
/** A client that reads nothing for this long is disconnected, because unread data uses memory. */
const STALLED_MS = 60_000;

let openCount = 0;
export const openStreams = () => openCount;
let stalledCount = 0;
export const stalledStreams = () => stalledCount;

/** Returns whether the client accepts a stream. HEAD requests get none, because they would wait until it ended. */
export function asksForStream(request: FastifyRequest): boolean {
  return request.method !== "HEAD" && /text\/event-stream/i.test(request.headers.accept ?? "");
}

/** Returns the number of the last event that the client received before its stream was interrupted. */
export function lastEventId(request: FastifyRequest): number | undefined {
  const header = request.headers["last-event-id"];
  if (header === undefined || header === "") return undefined;
  if (typeof header !== "string" || !/^\d{1,9}$/.test(header)) {
    throw invalidField("Last-Event-ID", "must be the `seq` of an event");
  }
  return Number(header);
}

export interface EventStream {
  /** Aborts when the client disconnects or the server stops. */
  signal: AbortSignal;
  /** Resolves when the client can receive more, so that unread data does not accumulate in memory. */
  write(text: string): Promise<void>;
  /** Writes the text if the client is keeping up, and drops it otherwise. */
  tryWrite(text: string): void;
  end(): void;
}

/** Starts a stream of server-sent events and keeps the connection open with heartbeats. */
export function openStream(
  reply: FastifyReply,
  stopping: AbortSignal,
  { stalledMs = STALLED_MS, onClose = () => {} }: { stalledMs?: number; onClose?: () => void } = {},
): EventStream {
  const { raw } = reply;
  const { socket } = raw.req;
  // A pipelined request behind an unfinished response gets no "close" event when its client disconnects.
  if (raw.socket === null && !socket.destroyed)
    throw new ApiError(
      "invalid_request",
      "A stream cannot be pipelined. Wait for the earlier responses on this connection.",
    );
  reply.hijack();
  const closed = new AbortController();
  openCount++;
  raw.once("close", close);
  const signal = AbortSignal.any([closed.signal, stopping]);
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  let stallTimer: NodeJS.Timeout | undefined;
  const stopStallTimer = () => {
    clearTimeout(stallTimer);
    stallTimer = undefined;
  };
  const startStallTimer = () => {
    stallTimer ??= setTimeout(() => {
      stalledCount++;
      socket.destroy();
    }, stalledMs);
  };
  raw.on("drain", stopStallTimer);
  const heartbeat = startTicker({ everyMs: HEARTBEAT_MS, task: () => tryWrite(": still here\n\n") });
  // If the client disconnected during authentication, there will be no "close" event.
  if (socket.destroyed) close();

  function close() {
    if (closed.signal.aborted) return;
    closed.abort();
    stopStallTimer();
    openCount--;
    onClose();
  }

  function push(text: string): boolean {
    const isFlushed = raw.write(text);
    if (!isFlushed) startStallTimer();
    return isFlushed;
  }

  function tryWrite(text: string) {
    if (!signal.aborted && !raw.writableNeedDrain) push(text);
  }

  return {
    signal,
    async write(text) {
      if (signal.aborted || push(text)) return;
      await new Promise<void>((resolve) => {
        const proceed = () => {
          raw.off("drain", proceed);
          signal.removeEventListener("abort", proceed);
          resolve();
        };
        raw.on("drain", proceed);
        signal.addEventListener("abort", proceed);
      });
    },
    tryWrite,
    end() {
      void heartbeat.stop();
      raw.end();
      // The stall timeout also applies while the client reads the data that is still buffered.
      if (!raw.writableFinished) startStallTimer();
    },
  };
}
