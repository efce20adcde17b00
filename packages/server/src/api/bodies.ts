import type { FastifyReply, FastifyRequest } from "fastify";
import { Refusal, tooMany } from "../engine/refusal.ts";

const MIB = 1024 ** 2;
/** Smaller ones are not worth counting: as many as there may be connections do no harm. */
const COUNTED_BYTES = MIB / 8;
const RETRY_SECONDS = 5;

export interface BodyBounds {
  /** In bytes, of all callers. */
  most: number;
  mostEach: number;
  waitMs: number;
}

const usual: BodyBounds = { most: 256 * MIB, mostEach: 64 * MIB, waitMs: 15_000 };

interface Body {
  subject: string;
  bytes: number;
}

/**
 * How much of bodies may be in memory at once, of all callers and of one. A body's size is bounded, and so is how many
 * requests a caller may make in a minute; all of them in the same moment would still be gigabytes. Who comes when there is
 * no room waits, and what they send waits with them in the network.
 */
export class Bodies {
  readonly #bounds: BodyBounds;
  readonly #held = new Map<string, number>();
  readonly #waiting = new Map<Body, () => void>();
  #total = 0;

  constructor(bounds: BodyBounds = usual) {
    this.#bounds = bounds;
  }

  /** Waits for room for the body of a request, which has it until the answer has left or nobody is there to take it. */
  async admit(subject: string, { raw, headers, routeOptions }: FastifyRequest, reply: FastifyReply) {
    const { "content-length": length, "transfer-encoding": coding } = headers;
    const { bodyLimit } = routeOptions;
    const bytes = coding === undefined ? Number(length ?? 0) : bodyLimit;
    const leave = await this.enter(subject, Math.min(bytes, bodyLimit));
    if (!leave) return;
    const { socket } = raw;
    const over = () => {
      reply.raw.off("close", over);
      socket.off("close", over);
      leave();
    };
    // An answer that waits behind another on its connection does not hear of the connection's end.
    reply.raw.once("close", over);
    socket.once("close", over);
    if (socket.destroyed) over();
  }

  /** Resolves when there is room, with the way to give it back where there is something to give back. */
  async enter(subject: string, bytes: number): Promise<(() => void) | undefined> {
    if (bytes < COUNTED_BYTES) return undefined;
    const body = { subject, bytes };
    if (this.#fits(body)) this.#take(body, 1);
    else await this.#turnOf(body);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#take(body, -1);
      this.#callNext();
    };
  }

  #isOwnBound({ subject, bytes }: Body): boolean {
    return (this.#held.get(subject) ?? 0) + bytes > this.#bounds.mostEach;
  }

  #fits(body: Body): boolean {
    return this.#total + body.bytes <= this.#bounds.most && !this.#isOwnBound(body);
  }

  #take({ subject, bytes }: Body, times: 1 | -1) {
    this.#total += times * bytes;
    const held = (this.#held.get(subject) ?? 0) + times * bytes;
    if (held > 0) this.#held.set(subject, held);
    else this.#held.delete(subject);
  }

  #turnOf(body: Body): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(body);
        reject(this.#isOwnBound(body) ? tooMuchOfOne() : tooMuch());
      }, this.#bounds.waitMs);
      this.#waiting.set(body, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #callNext() {
    for (const [body, enter] of this.#waiting) {
      if (!this.#fits(body)) continue;
      this.#waiting.delete(body);
      this.#take(body, 1);
      enter();
    }
  }
}

function tooMuchOfOne(): Refusal {
  return tooMany("Too much was sent at once. Send large bodies one after the other.", RETRY_SECONDS);
}

function tooMuch(): Refusal {
  const refusal = new Refusal("resource_unavailable", "There is no room for a body of this size now.");
  refusal.retryAfterSeconds = RETRY_SECONDS;
  return refusal;
}
