import type { FastifyReply, FastifyRequest } from "fastify";
import { badMember, Refusal } from "../engine/refusal.ts";

const HEARTBEAT_MS = 15_000;
/** Who has not read for so long is hung up on: what waits for a reader holds memory, and with streams any number may. */
const STALLED_MS = 60_000;

let open = 0;
export const openStreams = () => open;
let hungUpOn = 0;
export const stalledStreams = () => hungUpOn;

/** Who asks for the head alone would wait for an end that never comes. */
export function asksForStream(request: FastifyRequest): boolean {
  return request.method !== "HEAD" && /text\/event-stream/i.test(request.headers.accept ?? "");
}

/** Where a stream that broke off is to go on. */
export function lastEventId(request: FastifyRequest): number | undefined {
  const header = request.headers["last-event-id"];
  if (header === undefined || header === "") return undefined;
  if (typeof header !== "string" || !/^\d{1,9}$/.test(header)) {
    throw badMember("Last-Event-ID", "must be the `seq` of an event");
  }
  return Number(header);
}

export interface EventStream {
  /** Aborts when the client is gone or the server stops. */
  signal: AbortSignal;
  /** Resolves when the client can take more: a slow reader makes us wait instead of filling memory. */
  write(text: string): Promise<void>;
  /** Best effort: left out where the reader is behind. */
  hint(text: string): void;
  end(): void;
}

/** Takes the connection over and keeps it open with a heartbeat. */
export function openStream(
  reply: FastifyReply,
  stopping: AbortSignal,
  { stalledMs = STALLED_MS, closed: wasClosed = () => {} }: { stalledMs?: number; closed?: () => void } = {},
): EventStream {
  const { raw } = reply;
  const { socket } = raw.req;
  // One that waits for an answer before it would hear of no end: not of its reader's, and not of the connection's.
  if (raw.socket === null && !socket.destroyed)
    throw new Refusal("invalid_request", "A stream cannot be asked for before earlier answers have come.");
  reply.hijack();
  const closed = new AbortController();
  open++;
  raw.once("close", over);
  const signal = AbortSignal.any([closed.signal, stopping]);
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  raw.flushHeaders();
  let stalled: NodeJS.Timeout | undefined;
  const isRead = () => {
    clearTimeout(stalled);
    stalled = undefined;
  };
  const mustBeRead = () => {
    stalled ??= setTimeout(() => {
      hungUpOn++;
      socket.destroy();
    }, stalledMs);
  };
  raw.on("drain", isRead);
  const heartbeat = setInterval(() => hint(": still here\n\n"), HEARTBEAT_MS);
  // Who has gone while we looked who they are has been told of already.
  if (socket.destroyed) over();

  function over() {
    if (closed.signal.aborted) return;
    closed.abort();
    isRead();
    open--;
    wasClosed();
  }

  function push(text: string): boolean {
    const isTaken = raw.write(text);
    if (!isTaken) mustBeRead();
    return isTaken;
  }

  function hint(text: string) {
    if (!signal.aborted && !raw.writableNeedDrain) push(text);
  }

  return {
    signal,
    async write(text) {
      if (signal.aborted || push(text)) return;
      await new Promise<void>((resolve) => {
        const go = () => {
          raw.off("drain", go);
          signal.removeEventListener("abort", go);
          resolve();
        };
        raw.on("drain", go);
        signal.addEventListener("abort", go);
      });
    },
    hint,
    end() {
      clearInterval(heartbeat);
      raw.end();
      // What is still on its way has the same time to be read.
      if (!raw.writableFinished) mustBeRead();
    },
  };
}
