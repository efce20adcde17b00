import { Readable } from "node:stream";
import type { RunEvent } from "@outrider/contract/event";
import type { RunItem } from "@outrider/contract/run";
import {
  type SharedEvent,
  type SharedRun,
  toSharedEvent,
  toSharedRun,
} from "@outrider/contract/shares/shared-view";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { ConcurrencyLimiter } from "../../engine/limits/concurrency-limiter.ts";
import type { Db } from "../../store/connection/db.ts";
import { listEvents } from "../../store/runs/events.ts";
import { compressStream } from "../http/compression.ts";
import { formatEvent, formatHeader } from "./markdown.ts";

const PAGE_SIZE = 1_000;

export const transcriptMedia = ["text/markdown", "application/json", "application/x-ndjson"] as const;

/** A range of the log, for readers that already have the beginning. */
export interface EventRange {
  after?: number | undefined;
  limit?: number | undefined;
}

/** The caller that reads the transcript. The list limiter counts the queries toward this caller's limit. */
export interface Reader {
  db: Db;
  listLimiter: ConcurrencyLimiter;
  subject: string;
}

async function* eventsOf(
  { db, listLimiter, subject }: Reader,
  runId: string,
  { after: start = 0, limit = Infinity }: EventRange,
): AsyncGenerator<RunEvent> {
  for (let after = start, left = limit; left > 0; ) {
    const page = { runId, after, limit: Math.min(PAGE_SIZE, left) };
    const { events, isTruncated } = await listLimiter.run(subject, () => listEvents(db, page));
    yield* events;
    if (!isTruncated && events.length < PAGE_SIZE) return;
    after = events.at(-1)?.seq as number;
    left -= events.length;
  }
}

async function* toSharedEvents(events: AsyncIterable<RunEvent>): AsyncGenerator<SharedEvent> {
  for await (const event of events) yield toSharedEvent(event);
}

const writers: Record<
  (typeof transcriptMedia)[number],
  (run: RunItem | SharedRun, events: AsyncIterable<RunEvent | SharedEvent>) => AsyncIterable<string>
> = {
  async *"text/markdown"(run, events) {
    yield formatHeader(run);
    for await (const event of events) yield formatEvent(event);
  },
  async *"application/json"(run, events) {
    yield `{"run":${JSON.stringify(run)},"events":[`;
    let comma = "";
    for await (const event of events) {
      yield comma + JSON.stringify(event);
      comma = ",";
    }
    yield "]}";
  },
  async *"application/x-ndjson"(_run, events) {
    for await (const event of events) yield `${JSON.stringify(event)}\n`;
  },
};

/** Reads and sends the transcript page by page, so that a long transcript is never in memory as a whole. */
export async function sendTranscript({
  run,
  request,
  reply,
  isShared = false,
  range = {},
  ...reader
}: Reader & {
  run: RunItem;
  request: FastifyRequest;
  reply: FastifyReply;
  /** True for readers of a share link, who see fewer details. */
  isShared?: boolean;
  range?: EventRange;
}): Promise<void> {
  const accept = request.headers.accept ?? "";
  const media = transcriptMedia.find((type) => accept.includes(type)) ?? "text/markdown";
  const events = eventsOf(reader, run.run_id, range);
  const text = isShared
    ? writers[media](toSharedRun(run), toSharedEvents(events))
    : writers[media](run, events);
  const content = compressStream(request, reply, Readable.from(text, { objectMode: false }));
  await reply.type(`${media}; charset=utf-8`).send(content);
}
