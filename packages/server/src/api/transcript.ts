import { Readable } from "node:stream";
import type { RunEvent } from "@outrider/contract/event";
import type { RunItem } from "@outrider/contract/run";
import { type SharedEvent, type SharedRun, sharedEvent, sharedRun } from "@outrider/contract/shared";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Room } from "../engine/room.ts";
import type { Db } from "../store/db.ts";
import { listEvents } from "../store/events.ts";
import { openingOf, pieceOf } from "./markdown.ts";

const PAGE = 1_000;

export const transcriptMedia = ["text/markdown", "application/json", "application/x-ndjson"] as const;

/** A part of the log: who reads along does not want all of it again. */
export interface Part {
  after?: number | undefined;
  limit?: number | undefined;
}

/** Who reads: in whose turn the log is asked for. */
export interface Reader {
  db: Db;
  searches: Room;
  subject: string;
}

async function* eventsOf(
  { db, searches, subject }: Reader,
  runId: string,
  { after: start = 0, limit = Infinity }: Part,
): AsyncGenerator<RunEvent> {
  for (let after = start, left = limit; left > 0; ) {
    const place = { runId, after, limit: Math.min(PAGE, left) };
    const { events, isCut } = await searches.within(subject, () => listEvents(db, place));
    yield* events;
    if (!isCut && events.length < PAGE) return;
    after = events.at(-1)?.seq as number;
    left -= events.length;
  }
}

async function* shared(events: AsyncIterable<RunEvent>): AsyncGenerator<SharedEvent> {
  for await (const event of events) yield sharedEvent(event);
}

const writers: Record<
  (typeof transcriptMedia)[number],
  (run: RunItem | SharedRun, events: AsyncIterable<RunEvent | SharedEvent>) => AsyncIterable<string>
> = {
  async *"text/markdown"(run, events) {
    yield openingOf(run);
    for await (const event of events) yield pieceOf(event);
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

/** Written while it is read, page by page, so that a long transcript costs no memory. */
export async function sendTranscript({
  run,
  request,
  reply,
  isShared = false,
  part = {},
  ...reader
}: Reader & {
  run: RunItem;
  request: FastifyRequest;
  reply: FastifyReply;
  /** For the reader of a share link, who sees less. */
  isShared?: boolean;
  part?: Part;
}): Promise<void> {
  const accept = request.headers.accept ?? "";
  const media = transcriptMedia.find((type) => accept.includes(type)) ?? "text/markdown";
  const events = eventsOf(reader, run.run_id, part);
  const text = isShared ? writers[media](sharedRun(run), shared(events)) : writers[media](run, events);
  await reply.type(`${media}; charset=utf-8`).send(Readable.from(text, { objectMode: false }));
}
