import { limits } from "@outrider/contract/limits";
import type { FastifyReply, FastifyRequest } from "fastify";
import { invalidField } from "../../engine/api-error.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import type { LogPage } from "../../store/log-page.ts";
import { noContent, ok, type Result, type Services, STREAMED } from "../pipeline/call.ts";
import { asksForStream, type EventStream, lastEventId } from "./sse.ts";

/**
 * Serves the event log of a run or a build. Clients that accept `text/event-stream` get a stream that starts after
 * `Last-Event-ID` (or `after`) and ends with the log's last event. Other clients get one page.
 */

const BATCH = 500;

interface LoggedEvent {
  seq: number;
  type: string;
}

type List<E> = (after: number, limit: number) => Promise<LogPage<E>>;

interface EventFeed<E extends LoggedEvent> {
  /** `hasEnded` is true if no more events will follow. */
  read(after: number, limit: number): Promise<LogPage<E> & { hasEnded: boolean }>;
  /** Waits until there may be more events. Returns false if the stream must end. */
  wait(after: number): Promise<boolean>;
  /** Called when the stream ends. */
  close?(): void;
}

interface EventLog<E extends LoggedEvent> {
  /** Returns whether the log is finished and has no event after `after`. */
  hasEnded(after: number): Promise<boolean>;
  list: List<E>;
  follow(stream: EventStream): EventFeed<E>;
}

interface EventRange {
  after?: number | undefined;
  limit?: number | undefined;
}

interface EventsCall {
  services: Pick<Services, "streams">;
  principal: Principal;
  request: FastifyRequest;
  reply: FastifyReply;
  query: EventRange;
}

export async function respondWithEvents<E extends LoggedEvent>(
  { services, principal, request, reply, query }: EventsCall,
  log: EventLog<E>,
): Promise<Result | typeof STREAMED> {
  const lastSeen = lastEventId(request);
  if (asksForStream(request)) {
    if (query.limit !== undefined) throw invalidField("limit", "cannot be used with a stream");
    const after = lastSeen ?? query.after ?? 0;
    if (await log.hasEnded(after)) return noContent;
    await writeEvents(services.streams.open(reply, principal), after, log);
    return STREAMED;
  }
  const { events, has_next_page } = await readPage(log.list, query);
  const next_cursor = has_next_page ? String(events.at(-1)?.seq) : undefined;
  return ok({ events, page_info: { has_next_page, ...(next_cursor ? { next_cursor } : {}) } });
}

/** Reads one more event than requested, to find out whether another page follows. */
export async function readPage<E extends LoggedEvent>(
  list: List<E>,
  { after = 0, limit = limits.eventPageSize.default }: EventRange,
): Promise<{ events: E[]; has_next_page: boolean }> {
  const { events, isTruncated } = await list(after, limit + 1);
  return { events: events.slice(0, limit), has_next_page: isTruncated || events.length > limit };
}

/** Writes events to the stream until the log or the stream ends. */
async function writeEvents<E extends LoggedEvent>(
  stream: EventStream,
  after: number,
  log: EventLog<E>,
): Promise<void> {
  const feed = log.follow(stream);
  try {
    for (let seq = after; !stream.signal.aborted; ) {
      const { events, isTruncated, hasEnded } = await feed.read(seq, BATCH);
      for (const event of events) {
        await stream.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      }
      seq = events.at(-1)?.seq ?? seq;
      if (isTruncated || events.length === BATCH) continue;
      if (hasEnded || !(await feed.wait(seq))) break;
    }
  } finally {
    feed.close?.();
    stream.end();
  }
}
