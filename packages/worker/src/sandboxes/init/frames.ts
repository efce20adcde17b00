/**
 * The protocol between a worker and `outrider-init`, the first process of a sandbox (packages/worker/native). It needs one
 * reliable byte stream in each direction.
 *
 * A frame is a header of three 32-bit little-endian numbers (payload length, type, id), then the payload. The first frame
 * of the worker is "configure". Before it, init does nothing.
 *
 * - Commands: the worker chooses an id, a multiple of 4, and sends "start". init answers "started" or "failed", and later
 *   "exited". The command's streams are id (stdin), id + 1 (stdout) and id + 2 (stderr).
 * - Ports: the worker sends "listen", and init answers "listening". Each connection to the port is a stream in both
 *   directions, whose id init chooses and sends in "accepted".
 * - Limits: the worker sends "countLimits" with any id. In a container, init answers with what its control groups have
 *   counted in "limitCounts".
 * - Deadline: the worker sends "deadline" with any id, and init confirms it with "done".
 * - Freezing: the worker sends "freeze" or "thaw" with any id. init stops or continues all processes except itself, and
 *   answers "done".
 * - Pods: init stays without a connection. The id of "ready" is the number of earlier configurations. The worker sends
 *   "endCommands" to kill all processes, and init answers "commandsEnded" when all have exited. Then only "configure" may
 *   follow. Without a connection, init does the same by itself.
 * - Streams: each side may send `window` bytes, and then as many as the other side grants with "credit". "end" ends one
 *   direction. The worker sends "reset" to close a stream early. The last frame of init about an output is "end", and
 *   about stdin or a connection "closed". After these, an id is unknown.
 *
 * Everything that init sends is untrusted: frames are bounded, and an unknown type or id ends the connection.
 */
export const toInit = {
  configure: 1,
  start: 2,
  kill: 3,
  resize: 4,
  deadline: 5,
  listen: 6,
  countLimits: 7,
  freeze: 8,
  thaw: 9,
  endCommands: 10,
  data: 16,
  end: 17,
  credit: 18,
  reset: 19,
} as const;

export const fromInit = {
  ready: 1,
  started: 2,
  failed: 3,
  exited: 4,
  listening: 5,
  accepted: 6,
  limitCounts: 7,
  done: 8,
  commandsEnded: 9,
  data: 16,
  end: 17,
  credit: 18,
  closed: 19,
} as const;

/** How many bytes each side may send on a stream before the other side grants more. */
export const window = 256 * 1024;
export const maxDataBytes = 64 * 1024;
/** The largest payload that init accepts. */
export const maxPayloadBytes = 4 * 2 ** 20;
/** Ids of commands and listeners are below, ids of connections are not. */
export const firstConnectionId = 2 ** 31;
const headerBytes = 12;

export interface Frame {
  type: number;
  id: number;
  payload: Buffer;
}

export class ProtocolError extends Error {
  override name = "ProtocolError";
}

export function encodeFrame(type: number, id: number, payload?: Buffer): Buffer {
  const size = payload?.length ?? 0;
  const frame = Buffer.allocUnsafe(headerBytes + size);
  frame.writeUInt32LE(size, 0);
  frame.writeUInt32LE(type, 4);
  frame.writeUInt32LE(id, 8);
  payload?.copy(frame, headerBytes);
  return frame;
}

/** Encodes a payload of 32-bit numbers, followed by strings that end with a NUL. */
export function encodePayload(numbers: number[], strings: string[] = []): Buffer {
  const head = Buffer.allocUnsafe(4 * numbers.length);
  for (const [index, number] of numbers.entries()) head.writeUInt32LE(number, 4 * index);
  if (strings.length === 0) return head;
  return Buffer.concat([head, Buffer.from(`${strings.join("\0")}\0`)]);
}

/** Splits a 64-bit number for `encodePayload`. */
export function splitNumber(value: number): [low: number, high: number] {
  return [value % 2 ** 32, Math.floor(value / 2 ** 32)];
}

/** Splits a stream into frames. Uses no more memory than one frame of the largest size that init may send. */
export class FrameDecoder {
  readonly #header = Buffer.allocUnsafe(headerBytes);
  #headerFilled = 0;
  #payload: Buffer | undefined;
  #payloadFilled = 0;

  /** Throws a ProtocolError if a frame is too long. */
  *push(chunk: Buffer): Generator<Frame> {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#headerFilled < headerBytes) {
        const copied = chunk.copy(this.#header, this.#headerFilled, offset);
        this.#headerFilled += copied;
        offset += copied;
        if (this.#headerFilled < headerBytes) return;
      }
      const size = this.#header.readUInt32LE(0);
      if (size > maxDataBytes) throw new ProtocolError(`A frame has ${size} bytes.`);
      if (!this.#payload && chunk.length - offset >= size) {
        yield this.#finish(chunk.subarray(offset, offset + size));
        offset += size;
        continue;
      }
      this.#payload ??= Buffer.allocUnsafe(size);
      const copied = chunk.copy(this.#payload, this.#payloadFilled, offset);
      this.#payloadFilled += copied;
      offset += copied;
      if (this.#payloadFilled < size) return;
      yield this.#finish(this.#payload);
    }
  }

  #finish(payload: Buffer): Frame {
    this.#headerFilled = 0;
    this.#payload = undefined;
    this.#payloadFilled = 0;
    return { type: this.#header.readUInt32LE(4), id: this.#header.readUInt32LE(8), payload };
  }
}

/** Reads the 32-bit numbers of a payload, of which there must be `count`. */
export function decodeNumbers({ type, payload }: Frame, count: number): number[] {
  if (payload.length !== 4 * count) throw new ProtocolError(`A frame of type ${type} has a wrong length.`);
  return Array.from({ length: count }, (_, index) => payload.readUInt32LE(4 * index));
}
