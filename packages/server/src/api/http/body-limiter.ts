import type { FastifyReply, FastifyRequest } from "fastify";
import { type ApiError, tooMany, unavailable } from "../../engine/api-error.ts";
import { ConcurrencyLimiter } from "../../engine/limits/concurrency-limiter.ts";

const MIB = 1024 ** 2;
/** Smaller bodies are not counted, because even one on every connection uses little memory. */
const MIN_COUNTED_BYTES = MIB / 8;
const RETRY_SECONDS = 5;

/**
 * Limits how many bytes of request bodies are in memory at once. Other limits apply to the size of one body and to
 * requests per minute, but a client could send a minute's worth of bodies, which can be gigabytes, within one second.
 * While a request waits here, its body is not read and stays in the client's and the kernel's buffers.
 */
export class BodyLimiter {
  readonly #limiter = new ConcurrencyLimiter(
    { max: 256 * MIB, maxPerCaller: 64 * MIB, waitMs: 15_000 },
    { perCaller: callerLimitReached, total: serverLimitReached },
  );

  get stats(): ConcurrencyLimiter["stats"] {
    return this.#limiter.stats;
  }

  /** Waits until the body fits, and reserves its bytes until the response is sent or the client disconnects. */
  async admit(subject: string, { raw, headers, routeOptions }: FastifyRequest, reply: FastifyReply) {
    const { "content-length": length, "transfer-encoding": coding } = headers;
    const { bodyLimit } = routeOptions;
    const bytes = Math.min(bodyLimit, coding === undefined ? Number(length ?? 0) : bodyLimit);
    if (bytes < MIN_COUNTED_BYTES) return;
    const release = await this.#limiter.acquire(subject, bytes);
    const { socket } = raw;
    const onClose = () => {
      reply.raw.off("close", onClose);
      socket.off("close", onClose);
      release();
    };
    // Listen on both: a pipelined response gets no "close" event if the connection closes before the response's turn.
    reply.raw.once("close", onClose);
    socket.once("close", onClose);
    if (socket.destroyed) onClose();
  }
}

function callerLimitReached(): ApiError {
  return tooMany("Too many large request bodies at once. Send them one at a time.", RETRY_SECONDS);
}

function serverLimitReached(): ApiError {
  return unavailable(
    "The server does not have enough memory for a body of this size right now.",
    RETRY_SECONDS,
  );
}
