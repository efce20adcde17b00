import type { FastifyReply, FastifyRequest } from "fastify";
import { type Refusal, tooMany, unavailable } from "../engine/refusal.ts";
import { Room } from "../engine/room.ts";

const MIB = 1024 ** 2;
/** Smaller ones are not worth counting: as many as there may be connections do no harm. */
const COUNTED_BYTES = MIB / 8;
const RETRY_SECONDS = 5;

/**
 * How much of bodies is in memory at once. A body's size is bounded, and so is how many requests a caller may make in a
 * minute; all of them in the same moment would still be gigabytes. What somebody sends who waits here waits in the network.
 */
export class Bodies {
  readonly #room = new Room({ most: 256 * MIB, mostEach: 64 * MIB, waitMs: 15_000 }, { own, all });

  get standing(): Room["standing"] {
    return this.#room.standing;
  }

  /** Waits for room for the body of a request, which has it until the answer has left or nobody is there to take it. */
  async admit(subject: string, { raw, headers, routeOptions }: FastifyRequest, reply: FastifyReply) {
    const { "content-length": length, "transfer-encoding": coding } = headers;
    const { bodyLimit } = routeOptions;
    const bytes = Math.min(bodyLimit, coding === undefined ? Number(length ?? 0) : bodyLimit);
    if (bytes < COUNTED_BYTES) return;
    const leave = await this.#room.enter(subject, bytes);
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
}

function own(): Refusal {
  return tooMany("Too much was sent at once. Send large bodies one after the other.", RETRY_SECONDS);
}

function all(): Refusal {
  return unavailable("There is no room for a body of this size now.", RETRY_SECONDS);
}
