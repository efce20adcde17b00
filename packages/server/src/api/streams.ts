import type { FastifyReply } from "fastify";
import type { Principal } from "../engine/principal.ts";
import { tooMany, unavailable } from "../engine/refusal.ts";
import { Room } from "../engine/room.ts";
import { subjectOf } from "./rate-limits.ts";
import { type EventStream, openStream } from "./sse.ts";

/** Streams end when tabs are closed and runs end, so there is no moment that could be named. */
const RETRY_SECONDS = 10;

export interface StreamBounds {
  /** Of all callers, on this server. */
  most: number;
  /** Of one key, or of one person in all browsers in which they are signed in. */
  mostEach: number;
}

/**
 * How many streams callers may hold open here. A request is over in a moment and counts for a minute; a stream costs
 * memory and questions to the database for as long as its reader likes.
 */
export class Streams {
  readonly bounds: StreamBounds;
  readonly #stopping: AbortSignal;
  readonly #room: Room;

  constructor(bounds: StreamBounds, stopping: AbortSignal) {
    this.bounds = bounds;
    this.#stopping = stopping;
    const own = () =>
      tooMany(`${bounds.mostEach} streams of yours are open here, and no more may be.`, RETRY_SECONDS);
    const all = () => unavailable("Too many streams are open here. Try again later.", RETRY_SECONDS);
    this.#room = new Room({ ...bounds, waitMs: 0 }, { own, all });
  }

  get refused(): number {
    return this.#room.standing.refused;
  }

  open(reply: FastifyReply, principal: Principal): EventStream {
    const closed = this.#room.enterNow(subjectOf(principal));
    try {
      return openStream(reply, this.#stopping, { closed });
    } catch (error) {
      closed();
      throw error;
    }
  }
}
