/**
 * Limits the size and structure of a response in Amazon's binary event stream, as bounded-response.ts does for text.
 * Each frame begins with its length. The AI SDK collects a frame until it is complete and copies it for every chunk, so
 * a frame may be much smaller than an event of other providers.
 */
import { findExcess } from "../../json-meter.ts";
import { responseLimitError } from "./bounded-response.ts";
import { checkedResponse } from "./checked-response.ts";

const MAX_RESPONSE_BYTES = 256 * 2 ** 20;
const MAX_FRAME_BYTES = 2 * 2 ** 20;
const frameLimits = { depth: 100, values: 30_000 };
/** The lengths of a frame and of its headers, and a checksum of both. */
const FRAME_START_BYTES = 12;
const CHECKSUM_BYTES = 4;

/** Returns the response with a body that fails when it exceeds a limit. */
export function boundFrames(response: Response): Response {
  let buffered: Buffer[] = [];
  let bufferedBytes = 0;
  let totalBytes = 0;
  return checkedResponse(response, (chunk) => {
    totalBytes += chunk.length;
    buffered.push(Buffer.from(chunk));
    bufferedBytes += chunk.length;
    if (totalBytes > MAX_RESPONSE_BYTES)
      return responseLimitError(`is larger than ${MAX_RESPONSE_BYTES} bytes`);
    const { excess, rest } = readFrames(Buffer.concat(buffered, bufferedBytes));
    if (excess !== undefined) return responseLimitError(excess);
    buffered = [rest];
    bufferedBytes = rest.length;
    return undefined;
  });
}

/** Checks the complete frames of the data and returns what follows them. */
function readFrames(data: Buffer): { excess?: string; rest: Buffer } {
  let at = 0;
  while (data.length - at >= FRAME_START_BYTES) {
    const length = data.readUInt32BE(at);
    const headerLength = data.readUInt32BE(at + 4);
    if (length > MAX_FRAME_BYTES)
      return { excess: `has an event of more than ${MAX_FRAME_BYTES} bytes`, rest: data };
    if (length < FRAME_START_BYTES + headerLength + CHECKSUM_BYTES)
      return { excess: "has an event with an invalid length", rest: data };
    if (data.length - at < length) break;
    const payload = data.subarray(at + FRAME_START_BYTES + headerLength, at + length - CHECKSUM_BYTES);
    const excess = findExcess(payload, frameLimits);
    if (excess !== undefined) return { excess: `has an event that ${excess}`, rest: data };
    at += length;
  }
  return { rest: data.subarray(at) };
}
