import type { FastifyReply } from "fastify";
import type { Principal } from "../engine/principal.ts";
import { Refusal, tooMany } from "../engine/refusal.ts";
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
  readonly #held = new Map<string, number>();
  #count = 0;
  #refused = 0;

  constructor(bounds: StreamBounds, stopping: AbortSignal) {
    this.bounds = bounds;
    this.#stopping = stopping;
  }

  get refused(): number {
    return this.#refused;
  }

  open(reply: FastifyReply, principal: Principal): EventStream {
    const { most, mostEach } = this.bounds;
    const subject = subjectOf(principal);
    const held = this.#held.get(subject) ?? 0;
    if (held >= mostEach || this.#count >= most) this.#refused++;
    if (held >= mostEach) {
      const whose = principal.key ? "The key has" : "You have";
      const detail = `${whose} ${held} streams open here, and may have no more. Close one of them.`;
      throw tooMany(detail, RETRY_SECONDS);
    }
    if (this.#count >= most) {
      const refusal = new Refusal("resource_unavailable", "Too many streams are open here. Try again later.");
      refusal.retryAfterSeconds = RETRY_SECONDS;
      throw refusal;
    }
    this.#count++;
    this.#held.set(subject, held + 1);
    const closed = () => this.#leave(subject);
    try {
      return openStream(reply, this.#stopping, { closed });
    } catch (error) {
      closed();
      throw error;
    }
  }

  #leave(subject: string) {
    this.#count--;
    const left = (this.#held.get(subject) ?? 1) - 1;
    if (left > 0) this.#held.set(subject, left);
    else this.#held.delete(subject);
  }
}
